"""
Explore what a detector calls an outlier
========================================

Which rows are unusual, and where does "unusual" begin? This script makes one web page of a detector on scikit-learn's
178 wines, ten of which have one value that is three times too large.

Run ``python explore_outliers.py outliers.html`` to make it yourself.
"""

# %%
# Ten wines with one wrong value each, and a detector that expects about as many.

# sphinx_gallery_thumbnail_path = 'images/explorer_outliers.png'

import sys

import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

from preimage import KernelNoveltyDetector, explore

PAGE = sys.argv[1] if len(sys.argv) > 1 else "outliers.html"

wine = load_wine()
names = [name.replace("_", " ") for name in wine.feature_names]
rng = np.random.default_rng(0)
X, rows = wine.data.copy(), rng.choice(178, size=10, replace=False)
X[rows, rng.integers(13, size=10)] *= 3
mistyped = np.where(np.isin(np.arange(178), rows), "mistyped", "as measured")
detector = make_pipeline(RobustScaler(), KernelNoveltyDetector(contamination=0.06)).fit(
    X
)

# %%
# The line is the threshold of the detector; what lies beyond it is shaded. Colours say which wines were mistyped, and
# the menu "Colour by" has the decisions of the detector.

page = explore(
    detector,
    X,
    mistyped,
    label_name="value",
    kind="table",
    names=names,
    title="Outliers among wines",
)
page.save(PAGE)
print(page)

# %%
# **Read on:** :doc:`/guides/explore` and :doc:`/guides/find_novelties`.
