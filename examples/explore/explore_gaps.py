"""
Explore what fills the gaps of a table
======================================

Which rows had gaps, and what were they filled with? This script makes one web page of an imputer on scikit-learn's 178
wines, of which one value in twelve is missing.

Run ``python explore_gaps.py gaps.html`` to make it yourself.
"""

# %%
# A table with gaps, and an imputer. `explore` adds the map: kernel PCA of the filled rows.

# sphinx_gallery_thumbnail_path = 'images/explorer_gaps.png'

import sys

import numpy as np
from sklearn.datasets import load_wine

from preimage import KernelImputer, explore

PAGE = sys.argv[1] if len(sys.argv) > 1 else "gaps.html"

wine = load_wine()
names = [name.replace("_", " ") for name in wine.feature_names]
cultivar = [f"cultivar {number + 1}" for number in wine.target]
X = wine.data.copy()
X[np.random.default_rng(0).random(X.shape) < 1 / 12] = np.nan
imputer = KernelImputer().fit(X)

# %%
# Rows with gaps have hollow marks. Click one: the inspector shows the row with its gaps, and as the imputer filled it.

page = explore(
    imputer,
    X,
    cultivar,
    label_name="cultivar",
    kind="table",
    names=names,
    title="Wines with gaps",
)
page.save(PAGE)
print(page)

# %%
# **Read on:** :doc:`/guides/explore` and :doc:`/guides/fill_gaps`.
