"""What we read of scikit-learn that is not public, all of it."""

from typing import Any

from sklearn.linear_model._base import LinearClassifierMixin, LinearModel
from sklearn.multiclass import _ConstantPredictor as ConstantPredictor

from preimage._engine.typing import Array

__all__ = ["ConstantPredictor", "LinearClassifierMixin", "LinearModel"]


def resolved_gamma(svm: Any) -> float:
    """The number that gamma="scale" or "auto" became."""
    return svm._gamma


def platt_parameters(svm: Any) -> tuple[Array | None, Array | None]:
    """Platt's A and B of every pair, or None twice; the public names warn of their removal."""
    return (svm._probA, svm._probB) if svm._probA.size else (None, None)


def training_inputs(svm: Any) -> Array:
    """All training inputs of a support vector machine whose kernel is a function."""
    return svm._BaseLibSVM__Xfit


def target_scaling(gaussian_process: Any) -> tuple[Array, Array]:
    """Mean and scale that normalize_y took from the targets; zero and one without it."""
    return gaussian_process._y_train_mean, gaussian_process._y_train_std


def has_flat_targets(regressor: Any) -> bool:
    """Whether a TransformedTargetRegressor was fitted to targets of shape (n,)."""
    return regressor._training_dim == 1


def centring_of(kernel_pca: Any) -> tuple[Array, float]:
    """Column means of the training matrix and their mean, which scikit-learn's kernel PCA subtracts."""
    centerer = kernel_pca._centerer
    return centerer.K_fit_rows_, centerer.K_fit_all_


def is_multilabel(classifier: Any) -> bool:
    """Whether a linear classifier was fitted on several labels per row; only ridge classifiers can be."""
    binarizer = getattr(classifier, "_label_binarizer", None)
    return binarizer is not None and binarizer.y_type_.startswith("multilabel")


def column_numbers(transformer: Any) -> dict[str, Any]:
    """The columns that each part of a fitted ColumnTransformer takes, as numbers, also where it was given names."""
    return transformer._transformer_to_input_indices


def scaler_of(transformer: Any) -> Any:
    """The StandardScaler inside of a fitted PowerTransformer."""
    return transformer._scaler
