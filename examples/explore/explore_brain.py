"""
Explore brain scans in a browser
================================

Where in the brain do two states differ? This script makes one web page of scans, drawn as three cuts through their
voxels. Walk from the mean of one state to the mean of the other to see what changes, and where.

The scans are synthetic: rest and movement, each with a place of activity in an ellipsoid, in smooth noise.

Run ``python explore_brain.py brain.html`` to make it yourself.
"""

# %%
# The scans, with their voxels in the order of a mask.

# sphinx_gallery_thumbnail_path = 'images/explorer_brain.png'

import sys

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import detrend

from preimage import KernelPCA, explore

PAGE = sys.argv[1] if len(sys.argv) > 1 else "brain.html"


def make_volumes():
    """Scans with their voxels in the order of the mask, their states, the runs, and "
    "the mask."""
    rng, shape, y = np.random.default_rng(0), (12, 14, 10), np.arange(400) // 20 % 2
    grid = np.stack(
        np.meshgrid(*(np.linspace(-1, 1, size) for size in shape), indexing="ij")
    )
    mask = (grid**2).sum(axis=0) < 0.9
    places = np.array([[-0.4, 0.3, 0.1], [0.4, -0.3, 0.1]])
    active = [
        np.exp(-20 * ((grid - place[:, None, None, None]) ** 2).sum(axis=0))[mask]
        for place in places
    ]
    noise = np.stack([gaussian_filter(rng.normal(size=shape), 1.0)[mask] for _ in y])
    return (
        np.array(active)[y] + 0.4 * noise,
        np.array(["rest", "movement"])[y],
        np.arange(400) // 40,
        mask,
    )


def without_trends(volumes, runs):
    """The scans less the mean and the linear trend of each voxel in each run."""
    changes = np.empty(volumes.shape)
    for run in np.unique(runs):
        changes[runs == run] = detrend(volumes[runs == run], axis=0)
    return changes


volumes, states, runs, mask = make_volumes()

# %%
# The page. Click on a voxel to move the cuts. Under Walk, choose two states, and move the slider between them.

X = without_trends(volumes, runs)
model = KernelPCA(30, gamma="median", landmarks=300, random_state=0).fit(X)
page = explore(
    model,
    X,
    states,
    label_name="state",
    mask=mask,
    colors={"run": runs},
    title="States of a brain",
)
page.save(PAGE)
print(page)

# %%
# **Read on:** :doc:`/guides/explore` and :doc:`/guides/brain_scans`.
