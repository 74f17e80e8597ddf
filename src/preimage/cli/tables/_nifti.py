"""Scans in NIfTI files as tables, and a slice of them as pictures."""

from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.neuro._denoise_image import MaskedScans, mask_scans

SUFFIXES = (".nii", ".nii.gz")


def is_nifti(path: Path) -> bool:
    """Whether the name of a file says that it is NIfTI."""
    return path.name.lower().endswith(SUFFIXES)


def read_nifti(path: Path, mask: Any = None) -> MaskedScans:
    """The scans of a 4D image inside a mask, which is found by intensities if there is none."""
    try:
        return mask_scans(path, mask)
    except ValueError:
        raise
    except Exception as error:  # nibabel and nilearn have many kinds for a file that is broken
        if isinstance(error, (ImportError, OSError, MemoryError)):
            raise
        raise ValueError(f"{type(error).__name__}: {error}") from error


def write_nifti(path: Path, scans: MaskedScans, values: Array, outside: str = "keep") -> None:
    """Rows as a 4D image with the affine and header of the scans, and their voxels outside the mask or zeros."""
    scans.unmask(values, outside).to_filename(path)


def slice_pictures(scans: MaskedScans, values: Array) -> tuple[Array, tuple[int, int]]:
    """The axial slice with most voxels of the mask, front on top: rows (n, height · width) and (height, width)."""
    mask = scans.mask
    depth = int(mask.sum(axis=(0, 1)).argmax())
    inside = mask[:, :, depth]
    volume = np.full((*inside.shape, len(values)), np.nan)
    volume[inside] = values[:, mask.nonzero()[2] == depth].T
    rows, columns = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    volume = volume[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    pictures = volume.transpose(2, 1, 0)[:, ::-1]
    return pictures.reshape(len(values), -1), pictures.shape[1:]
