"""
Explore handwritten digits in a browser
=======================================

What does a model know about digits? This script makes one web page with the model inside: move the pointer over the
map, and the digit of that place appears. The page needs no server and no network; send it to anyone.

Run ``python explore_digits.py digits.html`` to make it yourself.
"""

# %%
# The digits of 8 × 8 pixels that come with scikit-learn.

# sphinx_gallery_thumbnail_path = 'images/explorer_digits.png'

import sys

from sklearn.datasets import load_digits

from preimage import KernelPCA, explore

PAGE = sys.argv[1] if len(sys.argv) > 1 else "digits.html"
digits = load_digits()
X, y, shape = digits.data / 16, digits.target, (8, 8)

# %%
# The model and its page. The model has 300 landmarks, so that a browser finds a pre-image faster than it draws a frame.
#
# On the page below: move the pointer over the map. Under Denoise, erase the lower half of a digit: the model completes
# it. Under Walk, go from one digit to another.

model = KernelPCA(60, gamma="median", landmarks=300, random_state=0).fit(X)
page = explore(
    model,
    X,
    y,
    image_shape=shape,
    label_name="digit",
    title="Handwritten digits",
    max_samples=1500,
)
page.save(PAGE)
print(page)

# %%
# **Read on:** :doc:`/guides/explore`.
