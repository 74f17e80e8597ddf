"""
Explore what a support vector machine decides
=============================================

Where does the decision of a machine change, and what do rows look like there? This script makes one web page of a support
vector machine on scikit-learn's 178 wines. The map shows the machine's own feature space; colours say which cultivar it
decides for the row that lies at each place.

Run ``python explore_machine.py machine.html`` to make it yourself.
"""

# %%
# A pipeline of scaling and a support vector machine, as anyone has it. `explore` finds the components of its kernel.

# sphinx_gallery_thumbnail_path = 'images/explorer_machine.png'

import sys

from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from preimage import explore

PAGE = sys.argv[1] if len(sys.argv) > 1 else "machine.html"

wine = load_wine()
names = [name.replace("_", " ") for name in wine.feature_names]
cultivar = [f"cultivar {number + 1}" for number in wine.target]
machine = make_pipeline(StandardScaler(), SVC(gamma=0.05)).fit(wine.data, cultivar)

# %%
# Lines are where the decision changes. Point at one of them: the inspector shows a wine between two classes, and
# the value of the decision at the pointer.

page = explore(
    machine,
    wine.data,
    cultivar,
    label_name="cultivar",
    kind="table",
    names=names,
    title="A machine for wines",
)
page.save(PAGE)
print(page)

# %%
# **Read on:** :doc:`/guides/explore` and :doc:`/guides/shrink_a_machine`.
