"""
Explore handwritten digits in a browser
=======================================

What does a model know about digits? This script makes one web page with the model inside: move the pointer over the
map, and the digit of that place appears. The page needs no server and no network; send it to anyone.

Run ``python explore_digits.py digits.html`` to make it yourself.
"""

# %%
# The digits: 16 × 16 pixels of USPS if `preimage.datasets.load_usps` finds them on this computer, and the 8 × 8 pixels
# that come with scikit-learn otherwise.

# sphinx_gallery_thumbnail_path = 'images/explorer_digits.png'

import sys

from sklearn.datasets import load_digits

from preimage import KernelPCA, explore
from preimage.datasets import load_usps

PAGE = sys.argv[1] if len(sys.argv) > 1 else "digits.html"


def load():
    """Digits of values from 0 to 1, their labels, and their shape."""
    try:
        usps = load_usps(download_if_missing=False)
    except FileNotFoundError:
        digits = load_digits()
        return digits.data / 16, digits.target, (8, 8)
    return (usps.X_train[:3000] + 1.0) / 2, usps.y_train[:3000], (16, 16)


X, y, shape = load()

# %%
# The model and its page. 300 landmarks carry the model, so that a browser finds pre-images between two of its frames.
#
# On the page below: move the pointer over the map. Under Denoise, erase the lower half of a digit: the model completes
# it. Under Walk, go from one digit to another.

model = KernelPCA(60, gamma="median", landmarks=300, random_state=0).fit(X)
page = explore(model, X, y, image_shape=shape, label_name="digit", title="Handwritten digits", max_samples=1500)
page.save(PAGE)
print(page)

# %%
# **Read on:** :doc:`/guides/explore`.
