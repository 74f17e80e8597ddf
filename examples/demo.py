"""The main job in a minute: kernel PCA against PCA as features for classifying digits.

Run ``python examples/demo.py --output demo``. Every parameter is chosen by cross-validation on the training half of
scikit-learn's bundled digits; the other half is only used for the accuracies. Prints a table and writes four figures.
"""

import argparse
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from preimage import KernelPCA
from preimage.kernels import Gaussian, Polynomial
from preimage.plotting import ComponentContourDisplay, SpectrumDisplay

COUNTS = [8, 16, 32, 64, 128]
KERNELS = [Gaussian(0.03), Gaussian(0.1), Gaussian(0.3), Gaussian(1.0)]
KERNELS += [Polynomial(2, gamma="scale", coef0=0.0), Polynomial(3, gamma="scale", coef0=0.0)]
PENALTIES = [0.1, 1, 10, 100]

# Okabe and Ito's colours, safe for colour-blind readers; with a darker yellow, and with grey and violet for ten digits.
ORANGE, BLUE = "#D55E00", "#0072B2"
DIGIT_COLORS = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#B8A900", BLUE, ORANGE, "#CC79A7", "#7F7F7F", "#5D3A9B"]


def main():
    plt.switch_backend("Agg")  # figures go to files
    folder = parse_output()
    started = time.perf_counter()
    X, y = load_digits(return_X_y=True)
    split = train_test_split(X / 16, y, test_size=0.5, stratify=y, random_state=0)
    X_train, X_test, y_train, _ = split
    print(f"{len(X_train)} digits of 64 pixels for training and model selection, {len(X_test)} for testing.")
    print(
        "A linear SVM on the first components; kernel and C chosen by 3-fold cross-validation on the training half.\n"
    )
    # Matrices of nine hundred points are too small for threads to pay, and threads hurt on a busy machine.
    with threadpool_limits(1):
        accuracies = compare(*split)
        figures = {
            "accuracy.png": draw_accuracy(accuracies, len(X_test)),
            "scatter.png": draw_scatter(X_train, y_train),
            "contours.png": draw_contours(),
            "spectrum.png": draw_spectrum(X_train),
        }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=150)
    print(f"\nTook {time.perf_counter() - started:.0f} s. Figures:")
    print("\n".join(f"  {folder / name}" for name in figures))


def parse_output():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo"), help="folder for the figures")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compare(X_train, X_test, y_train, y_test):
    """Test accuracies (PCA or NaN, kernel PCA) for every number of components; prints the table on the way."""
    print("components      PCA   kernel PCA   difference ± s.e.   chosen kernel")
    accuracies, validated = [], []
    for count in COUNTS:
        kernel_pca = select(KernelPCA(count), {"kernelpca__kernel": KERNELS}, X_train, y_train)
        hits = kernel_pca.predict(X_test) == y_test
        pca_hits, pca_score = np.full(len(y_test), np.nan), -np.inf
        if count <= X_train.shape[1]:  # PCA has no more components than there are pixels
            pca = select(PCA(count), {}, X_train, y_train)
            pca_hits, pca_score = pca.predict(X_test) == y_test, pca.best_score_
        accuracies.append((pca_hits.mean(), hits.mean()))
        validated.append((pca_score, kernel_pca.best_score_))
        print(table_row(count, pca_hits, hits, kernel_pca.best_params_["kernelpca__kernel"]), flush=True)
    accuracies, best = np.array(accuracies), np.argmax(validated, axis=0)
    print("\nThe error is that of the paired difference on the test digits: less than two of them may be chance.")
    for column, name in enumerate(["PCA", "kernel PCA"]):
        count, accuracy = COUNTS[best[column]], accuracies[best[column], column]
        print(f"Cross-validation prefers {count} components of {name}: {accuracy:.1%} on the test digits.")
    return accuracies


def select(features, grid, X, y):
    """The pipeline of features and a linear SVM that cross-validation on (X, y) prefers, fitted on all of it."""
    with tempfile.TemporaryDirectory() as cache:  # features are the same for every C
        pipeline = make_pipeline(features, LinearSVC(dual=False), memory=cache)
        return GridSearchCV(pipeline, {"linearsvc__C": PENALTIES, **grid}, cv=3).fit(X, y)


def table_row(count, pca_hits, hits, kernel):
    if np.isnan(pca_hits).any():
        return f"{count:10}        –   {hits.mean():10.1%}                   –   {kernel}"
    gains = hits.astype(float) - pca_hits
    error = gains.std() / np.sqrt(len(gains))
    difference = f"{100 * gains.mean():+.1f} ± {100 * error:.1f}"
    return f"{count:10}  {pca_hits.mean():7.1%}   {hits.mean():10.1%}   {difference:>17}   {kernel}"


def draw_accuracy(accuracies, n_test):
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    styles = [("PCA", ORANGE, "s", "--"), ("kernel PCA", BLUE, "o", "-")]
    for (label, color, marker, line), values in zip(styles, accuracies.T):
        errors = np.sqrt(values * (1 - values) / n_test)
        ax.errorbar(
            COUNTS, 100 * values, 100 * errors, label=label, color=color, marker=marker, linestyle=line, capsize=3
        )
    ax.set_xscale("log", base=2)
    ax.set_xticks(COUNTS, COUNTS)
    ax.set(xlabel="Number of components", ylabel="Test accuracy of a linear SVM in percent")
    ax.set_title("Features for classifying digits (bars: one standard error)", fontsize="medium")
    ax.axvline(64, color="0.6", linewidth=0.8, linestyle=":")
    ax.annotate("PCA ends here:\n64 pixels", (64, ax.get_ylim()[0]), (5, 8), textcoords="offset points", color="0.3")
    ax.legend(frameon=False, loc="upper left")
    return tidy(figure)


def draw_scatter(X, y):
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    models = {"PCA": PCA(2), "Kernel PCA, Gaussian kernel": KernelPCA(2, kernel=Gaussian(0.1))}
    for ax, (title, model) in zip(axes, models.items()):
        scores = model.fit_transform(X)
        for digit, color in enumerate(DIGIT_COLORS):
            ax.scatter(*scores[y == digit].T, s=26, color=color, marker=f"${digit}$", linewidths=0.3)
        shares = [f"{share:.0%}" for share in model.explained_variance_ratio_]
        ax.set(xlabel=f"Component 1 ({shares[0]} of the variance)", ylabel=f"Component 2 ({shares[1]})")
        ax.set_title(title, fontsize="medium")
    handles = [Patch(color=color, label=str(digit)) for digit, color in enumerate(DIGIT_COLORS)]
    figure.legend(handles=handles, title="Digit", loc="outside right center", frameon=False, handlelength=1)
    return tidy(figure)


def draw_contours():
    rng = np.random.default_rng(4)
    centers = [(-0.5, -0.1), (0.0, 0.7), (0.5, 0.1)]
    X = np.concatenate([rng.normal(center, 0.1, size=(100, 2)) for center in centers])
    figure = ComponentContourDisplay.from_estimator(KernelPCA(8, gamma=10).fit(X), X).figure_
    figure.suptitle(
        "Two components find the three clusters, six more split them (share of the variance in brackets)",
        fontsize="medium",
    )
    return figure


def draw_spectrum(X):
    models = [("PCA", "linear", ORANGE, "--"), ("kernel PCA, Gaussian kernel", Gaussian(0.1), BLUE, "-")]
    axes = None
    for label, kernel, color, line in models:
        model = KernelPCA(kernel=kernel).fit(X)
        display = SpectrumDisplay.from_estimator(model, label=label, color=color, linestyle=line, ax=axes)
        axes = display.axes_
    for ax in axes:
        ax.set_xlim(-4, 200)
    axes[0].set_ylim(1e-3, None)
    title = (
        f"The linear kernel has no more directions than pixels; the Gaussian one has {model.n_components_} (200 shown)"
    )
    display.figure_.suptitle(title, fontsize="medium")
    return display.figure_


def tidy(figure):
    for ax in figure.axes:
        ax.grid(True, color="0.92")
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    main()
