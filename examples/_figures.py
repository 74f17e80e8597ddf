"""The figures of the demo. The first one is also the picture of the README."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from _digits import (
    LINEAR,
    N_VALID,
    NOISE,
    SEARCHED,
    SKLEARN,
    TUNED,
    in_range,
    linear_pca,
    mean_square,
    sklearn_kernel_pca,
)

from preimage import KernelPCA
from preimage.plotting import DenoisingDisplay, NavigationDisplay, SpectrumDisplay
from preimage.solvers import FixedPoint

STYLE = Path(__file__).resolve().parents[1] / "docs" / "figures.mplstyle"
SHOWN = {
    LINEAR: "linear PCA",
    SKLEARN: "kernel PCA of\nscikit-learn",
    TUNED: "kernel PCA of\npreimage",
}
COLORS = {LINEAR: "C1", SKLEARN: "C2", TUNED: "C0", SEARCHED: "C0"}
MARKERS = {LINEAR: "s", SKLEARN: "^", SEARCHED: "o"}
COUNTS = [2, 4, 8, 16, 32, 64, 128, 256, 512]
LOWER_HALF = np.arange(64) >= 32


def draw_opening(digits, outcomes):
    """The same ten digits: clean, noisy, and denoised by three tuned methods, with the error of each."""
    first = [np.flatnonzero(digits.test_labels == label)[0] for label in range(10)]
    outputs = {"clean": digits.test, "noisy": in_range(digits.noisy_test)}
    outputs |= {label: outcomes[name].output for name, label in SHOWN.items()}
    figure, axes = plt.subplots(
        5, 2, figsize=(10, 4.5), width_ratios=(10, 2.5), layout="constrained"
    )
    rows = {name: Z[first].reshape(-1, 8, 8) for name, Z in outputs.items()}
    DenoisingDisplay(rows=rows, limits=(0, 1)).plot(ax=axes[:, 0], cmap="gray_r")
    axes[-1, 0].yaxis.label.set(color="C0", weight="bold")
    colors = ["white", "0.65", *(COLORS[name] for name in SHOWN)]
    for ax, Z, color in zip(axes[:, 1], outputs.values(), colors):
        draw_error(ax, mean_square(Z - digits.test), color, bold=ax is axes[-1, 1])
    axes[0, 1].set_title("mean squared error\nof 797 test digits", loc="left", y=0.0)
    figure.suptitle("The same ten noisy digits, denoised by three methods")
    figure.supxlabel(
        f"Gaussian noise of standard deviation {NOISE}; pixels clipped to 0 to 1; "
        f"every method tuned on the same {N_VALID} digits.",
        color="0.35",
    )
    return figure


def draw_error(ax, error, color, bold):
    """One bar with its value; none where there is no error."""
    ax.axis("off")
    ax.set(xlim=(0, 1.5 * NOISE**2), ylim=(-1, 1))
    if error > 0:
        ax.barh(0, error, height=0.7, color=color)
        ax.text(
            error + 0.002,
            0,
            f"{error:.4f}",
            va="center",
            weight="bold" if bold else "normal",
        )


def draw_halves(digits, outputs):
    """Digits without their lower half, and what three methods make of it."""
    rows = {
        "upper half": np.where(LOWER_HALF, np.nan, digits.test),
        **outputs,
        "truth": digits.test,
    }
    figure, axes = plt.subplots(len(rows), 1, figsize=(9, 4.6), layout="constrained")
    pictures = {
        name.replace(" ", "\n", 1): Z[:12].reshape(-1, 8, 8) for name, Z in rows.items()
    }
    display = DenoisingDisplay(rows=pictures, limits=(0, 1)).plot(
        ax=axes, cmap="gray_r"
    )
    mark_hidden(display.axes_[0], 12)
    figure.suptitle("The lower half of a digit, completed from its upper half")
    return figure


def mark_hidden(ax, n_pictures):
    """Orange where half a digit was hidden."""
    for number in range(n_pictures):
        ax.add_patch(plt.Rectangle((9 * number - 0.5, 3.5), 8, 4, color="#F0C8A0"))


def draw_error_against_components(digits, outcomes):
    """Test errors as the number of components varies, all else as chosen."""
    figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for name, errors in errors_by_count(digits, outcomes).items():
        ax.plot(
            COUNTS[: len(errors)],
            errors,
            color=COLORS[name],
            marker=MARKERS[name],
            label=name,
        )
    ax.axhline(NOISE**2, color="0.5", linewidth=1, linestyle="--", label="noisy digits")
    ax.set_xscale("log", base=2)
    ax.set_xticks(COUNTS, COUNTS)
    ax.set(
        xlabel="Number of components",
        ylabel="Mean squared error of test digits",
        ylim=(0, None),
    )
    ax.grid()
    figure.legend(loc="outside right center")
    figure.suptitle("Kernel PCA gains from more components than there are pixels (64)")
    return figure


def errors_by_count(digits, outcomes):
    X, Z = digits.train, digits.noisy_test
    others = {name: {**outcomes[name].parameters} for name in MARKERS}
    for parameters in others.values():
        parameters.pop("n_components")
    penalty = others[SEARCHED].pop("penalty")
    fixed_point = lambda X, Z, count, gamma: (
        KernelPCA(count, gamma=gamma, preimage=FixedPoint(penalty=penalty))
        .fit(X)
        .denoise(Z)
    )
    methods = {LINEAR: linear_pca, SKLEARN: sklearn_kernel_pca, SEARCHED: fixed_point}
    limits = {LINEAR: X.shape[1]}  # it has no more components than there are pixels
    return {
        name: [
            mean_square(method(X, Z, count, **others[name]) - digits.test)
            for count in COUNTS
            if count <= limits.get(name, np.inf)
        ]
        for name, method in methods.items()
    }


def draw_walks(digits, outcomes):
    """From one digit to another: a straight line in feature space, and one in input space."""
    model = outcomes[SEARCHED].model
    pairs = [(3, 8), (1, 7), (0, 6)]
    figure, axes = plt.subplots(
        2 * len(pairs), 1, figsize=(9, 7.4), layout="constrained"
    )
    for (first, second), (upper, lower) in zip(pairs, axes.reshape(-1, 2)):
        A, B = (typical(digits, model, label) for label in (first, second))
        names, style = (
            (str(first), str(second)),
            {"cmap": "gray_r", "vmin": 0, "vmax": 1},
        )
        NavigationDisplay.from_estimator(
            model, A, B, (8, 8), steps=11, names=names, ax=upper, **style
        )
        straight = A + np.linspace(0, 1, 11)[:, None] * (B - A)
        NavigationDisplay.from_images(straight, (8, 8), names=names, ax=lower, **style)
        for ax, label in ((upper, "feature\nspace"), (lower, "pixels")):
            ax.set_ylabel(label, rotation=0, ha="right", va="center")
    figure.suptitle("Straight lines between two digits, in feature space and in pixels")
    return figure


def typical(digits, model, label):
    """The training digit of a class that is nearest to the class mean in feature space."""
    X = digits.train[digits.train_labels == label]
    Y = model.transform(X)
    return X[[np.argmin(np.sum((Y - Y.mean(axis=0)) ** 2, axis=1))]]


def draw_spectrum(digits, outcomes):
    """Eigenvalues of a linear and of a Gaussian kernel."""
    gamma = outcomes[SEARCHED].parameters["gamma"]
    models = [
        ("linear PCA", "linear", "C1", "--"),
        (f"Gaussian kernel, γ = {gamma:.2g}", "rbf", "C0", "-"),
    ]
    axes = None
    for label, kernel, color, line in models:
        model = KernelPCA(kernel=kernel, gamma=gamma).fit(digits.train)
        display = SpectrumDisplay.from_estimator(
            model, label=label, color=color, linestyle=line, ax=axes
        )
        axes = display.axes_
    axes[0].set_ylim(1e-3, None)
    display.figure_.suptitle(
        "The linear kernel has a component per pixel, the Gaussian kernel more"
    )
    return display.figure_
