"""scikit-learn's own checks."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import SparseGreedyClassifier, SparseGreedyRegressor
from preimage.landmarks import RandomlyPivotedCholesky


@parametrize_with_checks(
    [
        SparseGreedyRegressor(),
        SparseGreedyRegressor(kernel="linear", fit_intercept=False),
        # One candidate: leaving a row out is not the same as leaving one of its repetitions out.
        SparseGreedyRegressor(RandomlyPivotedCholesky(200), alpha=np.array([0.1])),
        SparseGreedyClassifier(),
        SparseGreedyClassifier("rpcholesky", alpha=[0.01]),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
