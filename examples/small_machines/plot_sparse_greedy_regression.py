"""
Regression on a few basis functions
===================================

Kernel ridge regression keeps a coefficient for every training point. `SparseGreedyRegressor` chooses a few of them as
basis functions, each the one of 59 random candidates that leaves the smallest residual of the kernel, and fits only
these: time and memory grow with the number of points, not with its square and cube, and a prediction needs one kernel
value per basis function.
"""

# %%
# Four thousand points, most of them concentrated in one region, and a noisy function. A basis drawn at random is
# concentrated in the same region; the greedy one covers all regions.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_ridge import KernelRidge

from preimage import SparseGreedyRegressor
from preimage.landmarks import SparseGreedy, Uniform

rng = np.random.default_rng(0)


def draw(n):
    crowded = rng.uniform(size=n) < 0.85
    X = np.where(
        crowded[:, None],
        0.25 * rng.normal(size=(n, 2)) + 1,
        rng.uniform(-3, 3, size=(n, 2)),
    )
    return X, np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * X[:, 0] ** 2


X, surface = draw(4000)
y = surface + 0.3 * rng.normal(size=4000)
X_test, y_test = draw(2000)

# %%
# One fit on 100 landmarks also gives the fits on every smaller number: landmarks are ordered, and `path` gives the
# error after each. The penalty is the one with the smallest leave-one-out error, which costs one more pass over the
# data. The others get the same penalty: random subsets of several sizes, each fitted again, and kernel ridge regression
# on all points as the reference.

model = SparseGreedyRegressor(SparseGreedy(100), gamma=1.0, alpha="loo").fit(X, y)
path = model.path(X_test, y_test)
print(
    f"α = {model.alpha_:.3g}; the landmarks leave {model.residual_fraction_:.2%} of "
    "the trace of the kernel"
)


def error_on(estimator):
    return np.mean((estimator.fit(X, y).predict(X_test) - y_test) ** 2)


settings = {"gamma": 1.0, "alpha": model.alpha_}
numbers = np.array([5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
random_errors = [
    error_on(SparseGreedyRegressor(Uniform(n), **settings)) for n in numbers
]
full_error = error_on(KernelRidge(kernel="rbf", **settings))

print("functions      greedy   at random        full")
for n, at_random in zip(numbers, random_errors):
    print(f"{n:9}{path.test_error[n - 1]:12.4f}{at_random:12.4f}{full_error:12.4f}")

# %%
# Left: the points, and both sets of 60 landmarks. Right: the error relative to the function without noise. Sixty
# greedy functions are as accurate as four thousand; random ones do not cover the sparse regions.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 5), layout="constrained")
left.scatter(*X.T, s=3, color="0.75", label="point")
at_random = SparseGreedyRegressor(Uniform(60), **settings).fit(X, y).landmarks_.points
left.scatter(*model.landmarks_.points[:60].T, s=34, color="C0", label="greedy basis")
left.scatter(*at_random.T, s=30, marker="^", color="C1", label="random basis")
right.semilogy(path.n_landmarks, path.test_error, color="C0", label="greedy basis")
right.semilogy(numbers, random_errors, "^-", color="C1", label="random basis")
right.axhline(
    full_error, color="0.4", linestyle="--", linewidth=1.2, label="all 4,000 points"
)
left.set(
    aspect="equal", xlabel="$x_1$", ylabel="$x_2$", title="60 points chosen of 4,000"
)
right.set(
    xlabel="Number of basis functions",
    ylabel="Mean squared error",
    title="error on new points, without noise",
)
right.grid()
figure.suptitle("Sixty greedy basis functions are as accurate as all 4,000")
for ax, anchor in ((left, "lower left"), (right, "lower right")):
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc=f"outside {anchor}",
        ncols=3,
        columnspacing=1,
    )
plt.show()

# %%
# **Read on:** :doc:`/guides/many_rows`, and :doc:`/guides/shrink_a_machine` for machines that exist already.
