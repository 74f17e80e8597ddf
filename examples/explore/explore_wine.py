"""
Explore a table in a browser
============================

What do the rows of a table have in common, in the units of its columns? This script makes one web page of
scikit-learn's 178 wines: a bar per column in its own unit, although the model sees standardised columns. A slider goes
through models of five widths, from almost linear to very local, so that one sees what γ does.

Run ``python explore_wine.py wine.html`` to make it yourself. The command line does the same with a file:
``preimage explore wine.csv wine.html --label cultivar``.
"""

# %%
# A pipeline of scaling and kernel PCA. The page shows rows before the scaling.

# sphinx_gallery_thumbnail_path = 'images/explorer_wine.png'

import sys

from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, explore
from preimage.kernels import resolve_gamma

PAGE = sys.argv[1] if len(sys.argv) > 1 else "wine.html"

wine = load_wine()
names = [name.replace("_", " ") for name in wine.feature_names]
cultivar = [f"cultivar {number + 1}" for number in wine.target]
median = resolve_gamma("median", StandardScaler().fit_transform(wine.data))
model = make_pipeline(StandardScaler(), KernelPCA(8, gamma=median)).fit(wine.data)

# %%
# The page, with models of four further widths. Move the slider of the width and see the map unfold.

widths = [median * factor for factor in (0.1, 0.3, 1, 3, 10)]
page = explore(
    model,
    wine.data,
    cultivar,
    label_name="cultivar",
    kind="table",
    names=names,
    widths=widths,
    title="Wines of three cultivars",
)
page.save(PAGE)
print(page)

# %%
# **Read on:** :doc:`/guides/explore` and :doc:`/guides/command_line`.
