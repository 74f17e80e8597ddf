"""
Explore handwritten digits in a browser
=======================================

``python explore_digits.py digits.html`` makes one page with a model of digits inside: move the pointer over
the map, and the digit of that place appears. The digits are the 16 × 16 pixels of USPS where
`preimage.datasets.load_usps` finds them, and scikit-learn's bundled 8 × 8 pixels elsewhere.

On the page, erase the lower half of a digit under Denoise: the model completes it.
"""

import sys

from sklearn.datasets import load_digits

from preimage import KernelPCA, explore
from preimage.datasets import load_usps

PAGE = sys.argv[1] if len(sys.argv) > 1 else "digits.html"


def load():
    """Digits of values from 0 to 1, their labels, and their shape."""
    try:
        usps = load_usps(download_if_missing=False)
    except FileNotFoundError as absent:
        print(absent, "Smaller digits take their place.")
        digits = load_digits()
        return digits.data / 16, digits.target, (8, 8)
    return (usps.X_train[:3000] + 1.0) / 2, usps.y_train[:3000], (16, 16)


X, y, shape = load()
# 300 landmarks carry the model, so that a browser finds pre-images between two of its frames.
model = KernelPCA(60, gamma="median", landmarks=300, random_state=0).fit(X)
page = explore(model, X, y, image_shape=shape, label_name="digit", title="Handwritten digits", max_samples=1500)
page.save(PAGE)
print(f"Open {PAGE} in a browser.")
