"""Write models of the version on the path, and what they answer: ``PYTHONPATH=SOURCES python write.py FOLDER``.

Not a test: folders next to this file hold what earlier versions wrote.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import preimage
from preimage import (
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelImputer,
    KernelKMeans,
    KernelPCA,
    Renormalized,
    SemiSupervisedKernelPCA,
    SparseGreedyRegressor,
    compress,
)
from preimage.kernels import Gaussian, Linear


def models(X, y, targets, gaps):
    """Fitted models by name, each with the method that is asked."""
    some = np.where(np.arange(len(y)) < 8, y, -1)
    small = lambda machine: compress(machine, 5, X=X)
    return {
        "kernel_pca": (KernelPCA(3, gamma=0.5).fit(X), "transform"),
        "kernel_pca_landmarks": (KernelPCA(3, gamma=0.5, landmarks=8).fit(X), "transform"),
        "kernel_pca_polynomial": (KernelPCA(3, kernel="poly", degree=2).fit(X), "transform"),
        "kernel_pca_sum": (KernelPCA(3, kernel=Gaussian(0.5) + Gaussian(2.0)).fit(X), "transform"),
        "kernel_pca_mixture": (KernelPCA(3, kernel=Gaussian(0.5) + 0.1 * Linear()).fit(X), "transform"),
        "semi_supervised": (SemiSupervisedKernelPCA(2, gamma=0.5).fit(X, some), "transform"),
        "kernel_fisher": (KernelFisherDiscriminant(gamma=0.5, alpha=1e-2).fit(X, y), "decision_function"),
        "kernel_kmeans": (KernelKMeans(2, gamma=0.5, random_state=0).fit(X), "predict"),
        "kernel_imputer": (KernelImputer(n_components=3, gamma=0.5).fit(gaps), "transform"),
        "empirical_map": (EmpiricalKernelMap(gamma=0.5).fit(X), "transform"),
        "sparse_greedy": (SparseGreedyRegressor(6, gamma=0.5, alpha=1e-2).fit(X, targets), "predict"),
        "renormalized": (Renormalized(SVC(gamma=0.5)).fit(X, y), "predict"),
        "compressed_svc": (small(SVC(gamma=0.5).fit(X, y)), "decision_function"),
        "compressed_svr": (small(SVR(gamma=0.5).fit(X, targets)), "predict"),
        "compressed_one_class": (small(OneClassSVM(gamma=0.5, nu=0.3).fit(X)), "decision_function"),
        "pipeline": (make_pipeline(StandardScaler(), KernelPCA(3, gamma=0.5)).fit(X), "transform"),
    }


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(24, 3)), rng.normal(size=(4, 3))
    gaps = X.copy()
    gaps[::5, 0] = np.nan
    answers = {}
    for name, (model, method) in models(X, np.arange(24) % 2, X[:, 0] + np.sin(X[:, 1]), gaps).items():
        preimage.save(model, folder / f"{name}.safetensors")
        asked = queries.copy()
        if "imputer" in name:
            asked[:, 1] = np.nan
        answers[name] = {"method": method, "answer": np.asarray(getattr(model, method)(asked)).tolist()}
    text = json.dumps({"queries": queries.tolist(), "models": answers})
    (folder / "answers.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
