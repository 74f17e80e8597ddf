"""Scans as a table: one row per time point, one column per voxel of the mask; and as images again."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preimage._typing import Array

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

    def unmask(self, X: Array) -> Any:
        """Rows as an image: single precision, zero outside the mask, affine and header of the scans.

        Parameters
        ----------
        X : array of shape (n, n_voxels) or (n_voxels,)
            Scans, or one map, which becomes a 3D image.

        Returns
        -------
        image
        """
        X = np.asarray(X, dtype=np.float32)
        n_voxels = int(self.mask.sum())
        if X.ndim not in (1, 2) or X.shape[-1] != n_voxels:
            raise ValueError(f"The mask has {n_voxels} voxels; got rows of shape {X.shape}.")
        data = np.zeros((*self.mask.shape, *X.shape[:-1]), dtype=np.float32)
        data[self.mask] = X.T
        image = _nilearn("unmask").image.new_img_like(self.image, data, self.image.affine, copy_header=True)
        image.set_data_dtype(np.float32)
        return image


def mask_scans(img: Any, mask_img: Any = None) -> MaskedScans:
    """The voxels of a 4D image inside a mask, as a table.

    Parameters
    ----------
    img : path or 4D image
        Of nibabel or nilearn; volumes in time.
    mask_img : path or 3D image, optional
        Voxels that are not zero are taken; of the same shape and affine. None finds the brain by the intensities of an
        EPI scan (`nilearn.masking.compute_epi_mask`).

    Returns
    -------
    MaskedScans
    """
    nilearn = _nilearn("mask_scans")
    image = load_image(img)
    if len(image.shape) != 4:
        raise ValueError(
            f"Scans are 4D images, volumes in time; got the shape {tuple(image.shape)}. Join volumes with "
            "nilearn.image.concat_imgs first."
        )
    inside = _checked_mask(*_read_mask(nilearn, image, mask_img), image)
    # Not apply_mask: it makes zeros of what is missing.
    X = np.asarray(image.dataobj)[inside].T.astype(np.float64)
    missing = int(np.sum(~np.isfinite(X).all(axis=0)))
    if missing:
        raise ValueError(
            f"{missing} of {X.shape[1]} voxels in the mask have missing or infinite values. Take them out of the mask."
        )
    return MaskedScans(X, image, inside)


def load_image(img: Any) -> Any:
    """An image from a path, several 3D images, or itself."""
    return _nilearn("load_image").image.load_img(img)


def _read_mask(nilearn: Any, image: Any, mask_img: Any) -> tuple[Array, Array]:
    """Values and affine of a mask, which is found by intensities if there is none."""
    if mask_img is None:
        mask = nilearn.masking.compute_epi_mask(image)
        return np.asarray(mask.dataobj), mask.affine
    try:
        mask = nilearn.image.load_img(mask_img)
        return np.asarray(mask.dataobj), mask.affine
    except MemoryError:
        raise
    except Exception as error:  # nibabel and nilearn have many kinds for a file that is broken
        name = "The mask" if hasattr(mask_img, "dataobj") else f"The mask {mask_img}"
        raise ValueError(f"{name} cannot be read: {type(error).__name__}: {error}") from error


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
