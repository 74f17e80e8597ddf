"""Scans of a 4D image as rows, denoised, and as an image again."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from preimage._engine.memory import free_memory
from preimage._engine.typing import Array, Targets
from preimage._engine.warnings import warn_user
from preimage.estimators import KernelPCA
from preimage.estimators._cross_fit import FOLDS, automatic_folds
from preimage.model_selection import DenoisingSearch

# Positions of voxels, in millimetres, that agree to these relative and absolute differences are the same: the
# tolerances of nilearn. Ten times larger ones would accept shifts that resampling should correct.
SAME_AFFINE: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-5}


@dataclass(frozen=True)
class MaskedScans:
    """The voxels of a 4D image inside a mask.

    Attributes
    ----------
    X : array of shape (n_scans, n_voxels)
    image : image
        Where the scans come from: its affine and header go to images made of other rows.
    mask : boolean array of shape (x, y, z)
    """

    X: Any = field(repr=False)
    image: Any = field(repr=False)
    mask: Any = field(repr=False)

    @property
    def mask_image(self) -> Any:
        """The mask as an image, for other scans of the same voxels."""
        mask = self.mask.astype(np.uint8)
        return _nilearn("mask_image").image.new_img_like(self.image, mask, self.image.affine)

    def said(self, outside: str = "keep") -> str:
        """How many voxels were taken, and what becomes of the others, for scans whose mask was found."""
        others = "are left as they were" if outside == "keep" else "become zero"
        return (
            f"{int(self.mask.sum())} of {self.mask.size} voxels look like a brain and are taken; the others {others}."
        )

    def unmask(self, X: Array, outside: str = "zero") -> Any:
        """Rows as an image with the affine and header of the scans.

        Parameters
        ----------
        X : array of shape (n, n_voxels) or (n_voxels,)
            Scans, or one map, which becomes a 3D image.
        outside : {"zero", "keep"}, default="zero"
            Voxels outside the mask are zero, or what they are in the scans; there must then be as many rows as scans.

        Returns
        -------
        image
            Single precision; double where voxels outside the mask would change by rounding.
        """
        X = np.asarray(X, dtype=np.float32)
        n_voxels = int(self.mask.sum())
        if X.ndim not in (1, 2) or X.shape[-1] != n_voxels:
            raise ValueError(f"The mask has {n_voxels} voxels; got rows of shape {X.shape}.")
        if outside == "keep" and X.shape[:-1] != self.X.shape[:1]:
            raise ValueError(f"There are {len(self.X)} scans whose voxels could be kept; got rows of shape {X.shape}.")
        data = np.zeros((*self.mask.shape, *X.shape[:-1]), dtype=np.float32)
        if outside == "keep" and not self.mask.all():
            data = _in_fewest_digits(np.asarray(self.image.dataobj), ~self.mask)
        data[self.mask] = X.T
        image = _nilearn("unmask").image.new_img_like(self.image, data, self.image.affine, copy_header=True)
        image.set_data_dtype(data.dtype)
        return image


def mask_scans(img: Any, mask_img: Any = None) -> MaskedScans:
    """The voxels of a 4D image inside a mask of the same shape and affine, which is found if there is none."""
    nilearn = _nilearn("denoise_image")
    image = load_image(img)
    if len(image.shape) != 4:
        raise ValueError(
            f"Scans are 4D images, volumes in time; got the shape {tuple(image.shape)}. Join volumes with "
            "nilearn.image.concat_imgs first."
        )
    if image.get_data_dtype().kind not in "fiu":
        raise ValueError(f"Scans hold real numbers; got the type {image.get_data_dtype()}.")
    _require_memory(image)
    inside = _checked_mask(*_read_mask(nilearn, image, mask_img), image)
    # Not apply_mask: it makes zeros of what is missing.
    X = np.asarray(image.dataobj)[inside].T.astype(np.float64)
    missing = int(np.sum(~np.isfinite(X).all(axis=0)))
    if missing:
        raise ValueError(
            f"{missing} of {X.shape[1]} voxels in the mask have missing or infinite values. Take them out of the mask."
        )
    return MaskedScans(X, image, inside)


def _require_memory(image: Any) -> None:
    """Refuse scans that would not fit, before they are read: as they are stored, and in double precision."""
    needed = math.prod(image.shape) * (8 + image.get_data_dtype().itemsize)
    free = free_memory(np.empty(0))
    if needed > free:
        raise MemoryError(
            f"Scans of the shape {tuple(image.shape)} take {needed / 1e9:.2g} GB of memory, and {free / 1e9:.2g} GB "
            "are free. Take fewer scans at a time, or crop them (nilearn.image.index_img, nilearn.image.crop_img)."
        )


def _in_fewest_digits(values: Array, where: Array) -> Array:
    """A copy in single precision, or in double if values at `where` would change."""
    single = values.astype(np.float32)
    is_exact = np.array_equal(single[where], values[where], equal_nan=True)
    return single if is_exact else values.astype(np.float64)


def load_image(img: Any) -> Any:
    """An image from a path, several 3D images, or itself."""
    return _nilearn("load_image").image.load_img(img)


def _read_mask(nilearn: Any, image: Any, mask_img: Any) -> tuple[Array, Array]:
    """Values and affine of a mask, which is found by intensities if there is none."""
    if mask_img is None:
        return _found_mask(nilearn, image)
    try:
        mask = nilearn.image.load_img(mask_img)
        return np.asarray(mask.dataobj), mask.affine
    except MemoryError:
        raise
    except Exception as error:  # nibabel and nilearn have many kinds for a file that is broken
        name = "The mask" if hasattr(mask_img, "dataobj") else f"The mask {mask_img}"
        raise ValueError(f"{name} cannot be read: {type(error).__name__}: {error}") from error


def _found_mask(nilearn: Any, image: Any) -> tuple[Array, Array]:
    """Voxels that look like a brain, by their intensities."""
    hint = "Give a mask; without one, a brain is sought by the intensities of an EPI scan."
    try:
        mask = nilearn.masking.compute_epi_mask(image)
    except MemoryError:
        raise
    except Exception as error:  # of SciPy and NumPy too, on images without contrast
        raise ValueError(f"No brain was found in the scans ({type(error).__name__}: {error}). {hint}") from error
    values = np.asarray(mask.dataobj)
    if not values.any():
        raise ValueError(f"No brain was found in the scans. {hint}")
    return values, mask.affine


def _checked_mask(values: Array, affine: Array, image: Any) -> Array:
    if values.ndim == 4 and values.shape[3] == 1:
        values = values[..., 0]
    if values.shape != image.shape[:3]:
        raise ValueError(
            f"The mask has the shape {values.shape}, the scans {tuple(image.shape[:3])}. Resample it with "
            "nilearn.image.resample_to_img(mask, scans, interpolation='nearest')."
        )
    if not np.allclose(affine, image.affine, **SAME_AFFINE):
        raise ValueError(
            "The mask and the scans have different affines: their voxels lie at different places. Resample the mask "
            "with nilearn.image.resample_to_img(mask, scans, interpolation='nearest')."
        )
    inside = np.nan_to_num(values) != 0
    if not inside.any():
        raise ValueError("The mask is empty: no voxel differs from zero.")
    return inside


def _nilearn(who: str) -> Any:
    try:
        import nilearn.image
        import nilearn.masking
    except ImportError as error:
        raise ImportError(
            f'{who} reads brain images with nilearn, which is not installed. Type: pip install "preimage[neuro]"'
        ) from error
    return nilearn


def denoise_image(
    img: Any,
    mask_img: Any = None,
    estimator: Any = None,
    *,
    standardize: bool = False,
    runs: Targets = None,
    cross_fit: Any = "auto",
    outside: str = "keep",
) -> Any:
    """Denoise the scans of a 4D image by kernel PCA and pre-images.

    Voxels of the mask become columns, scans become rows, the estimator is fitted to them and denoises them, and the
    rows become an image again. The scans are their own training set: where that is clearly better, each scan is
    denoised by a model that has not seen it.

    Parameters
    ----------
    img : path or 4D image
        Volumes in time, of nibabel or nilearn.
    mask_img : path or 3D image, or masker, optional
        Voxels that are not zero are taken; of the same shape and affine. None finds the brain by the intensities of an
        EPI scan (`nilearn.masking.compute_epi_mask`), and warns how many it takes. A masker of nilearn is fitted to the
        image, and its own filters, smoothing and resampling apply; so does its affine.
    estimator : estimator, optional
        With `fit` and `denoise`: `KernelPCA`, `DenoisingSearch` or the like; a copy is fitted. None is
        `DenoisingSearch()`, which chooses width, components and penalty on the scans themselves.
    standardize : bool, default=False
        Whether all voxels should count alike: each is divided by its standard deviation before, and multiplied
        afterwards. Otherwise the brightest vary, and count, most.
    runs : array of shape (n_scans,), optional
        Run of each scan: means, and deviations if wanted, are then those of the run, and with several runs the folds of
        `cross_fit` are runs.
    cross_fit : "auto", int or None, default="auto"
        Folds in which scans are denoised, as in `KernelPCA.denoise`; for `DenoisingSearch`, its own parameter counts.
    outside : {"keep", "zero"}, default="keep"
        Whether voxels outside the mask stay exactly as they are, or become zero. A masker makes them zero.

    Returns
    -------
    image
        Single precision, with the affine and header of `img`; double precision where voxels outside the mask would
        change by rounding. A masker gives its own affine and header; the time between scans is that of `img`.

    See Also
    --------
    preimage.model_selection.DenoisingSearch : The default estimator.
    preimage.neuro.split_half_denoising : For which scans the result can be trusted.

    Examples
    --------
    >>> import nibabel, numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.neuro import denoise_image
    >>> scans = nibabel.Nifti1Image(np.random.default_rng(0).normal(size=(4, 4, 3, 20)), np.eye(4))
    >>> mask = nibabel.Nifti1Image(np.ones((4, 4, 3), dtype=np.uint8), np.eye(4))
    >>> denoise_image(scans, mask, KernelPCA(3, gamma="median")).shape
    (4, 4, 3, 20)
    """
    estimator = DenoisingSearch() if estimator is None else estimator
    if not (hasattr(estimator, "fit") and hasattr(estimator, "denoise")):
        raise TypeError(
            f"denoise_image needs an estimator with `fit` and `denoise`, such as KernelPCA; got {estimator!r}."
        )
    if outside not in ("keep", "zero"):
        raise ValueError(f"denoise_image: `outside` is 'keep' or 'zero'; got {outside!r}.")
    rows, to_image = _rows_and_back(img, mask_img, outside)
    scaled, restored = _scaling(rows, standardize, runs)
    return to_image(restored(np.asarray(_denoised(clone(estimator), scaled, runs, cross_fit))))


def _denoised(estimator: Any, rows: Array, runs: Targets, cross_fit: Any) -> Array:
    runs = None if runs is None or len(set(runs)) < 2 else np.asarray(runs)
    if isinstance(estimator, DenoisingSearch):
        return estimator.fit(rows, groups=runs).denoise(rows)
    model = estimator.fit(rows)
    if not isinstance(model, KernelPCA):  # others know no folds
        return model.denoise(rows)
    is_automatic = cross_fit == "auto"
    if cross_fit is not None and runs is not None and model.route_ == "exact":
        cross_fit = runs
    elif is_automatic:
        cross_fit = FOLDS
    return model.denoise(rows, cross_fit=automatic_folds(model, cross_fit=cross_fit) if is_automatic else cross_fit)


def _rows_and_back(img: Any, mask_img: Any, outside: str) -> tuple[Array, Callable[[Array], Any]]:
    if hasattr(mask_img, "fit_transform") and hasattr(mask_img, "inverse_transform"):
        masker, image = clone(mask_img), load_image(img)
        rows = np.asarray(masker.fit_transform(image), dtype=np.float64)
        return rows, lambda denoised: _timed(masker.inverse_transform(denoised.astype(np.float32)), image)
    scans = mask_scans(img, mask_img)
    if mask_img is None:
        warn_user(f"denoise_image has no mask: {scans.said(outside)}", UserWarning)
    return scans.X, lambda denoised: scans.unmask(denoised, outside)


def _timed(image: Any, scans: Any) -> Any:
    """An image of a masker, which has forgotten the time between scans."""
    if len(scans.shape) == len(image.shape) == 4:
        image.header.set_zooms((*image.header.get_zooms()[:3], scans.header.get_zooms()[3]))
        image.header.set_xyzt_units(*scans.header.get_xyzt_units())
    return image


def _scaling(rows: Array, standardize: bool, runs: Targets) -> tuple[Array, Callable[[Array], Array]]:
    """Rows in the units in which they are denoised, and the function that undoes the scaling."""
    if not standardize and runs is None:
        return rows, lambda denoised: denoised
    runs = np.zeros(len(rows), dtype=int) if runs is None else np.asarray(runs)
    if runs.shape != (len(rows),):
        raise ValueError(f"There are {len(rows)} scans and `runs` of shape {runs.shape}; each scan needs one.")
    codes = np.unique(runs, return_inverse=True)[1]
    blocks = [rows[codes == code] for code in range(codes.max() + 1)]
    means = np.stack([block.mean(axis=0) for block in blocks])[codes]
    deviations = np.ones_like(means)
    if standardize:
        deviations = np.stack([block.std(axis=0) for block in blocks])
        deviations = np.where(deviations > 0, deviations, 1.0)[codes]  # voxels that never change stay so
    return (rows - means) / deviations, lambda denoised: denoised * deviations + means
