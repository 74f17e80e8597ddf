"""Scans of a person who looks at pictures."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from data._files import Arrays, DataSet, Source, load
from preimage._engine.typing import Array


def load_haxby(*, download_if_missing: bool = True) -> Bunch:
    """Haxby's object recognition: 864 volumes of 577 ventral-temporal voxels, eight kinds of pictures, one subject.

    The values are raw: remove at least a linear trend and standardise each voxel within each run before use, and leave
    out whole runs in cross-validation. The volumes come from `nilearn.datasets.fetch_haxby`, which downloads 300 MB;
    the voxels used here are kept for the next time.

    Parameters
    ----------
    download_if_missing : bool, default=True
        If False, raise FileNotFoundError where the volumes are not on this computer.

    Returns
    -------
    Bunch
        `X` (864, 577) of int16, one row for each task volume; `y` (864,), a number into `label_names` (8,); `run` and
        `block` (864,), 12 runs and 96 blocks; `voxel_ijk` (577, 3), positions in the 40 × 64 × 64 volume.

    See Also
    --------
    make_scans : Synthetic scans, of which the signal is known.
    preimage.neuro.split_half : Prediction and reproducibility across runs.
    preimage.neuro.denoise_image : Images of your own.

    References
    ----------
    J. Haxby et al., "Distributed and overlapping representations of faces and objects in ventral temporal cortex",
    Science 293, 2001.

    Examples
    --------
    >>> from data import load_haxby
    >>> scans = load_haxby()  # doctest: +SKIP
    >>> scans.X.shape, len(set(scans.run)), len(scans.label_names)  # doctest: +SKIP
    ((864, 577), 12, 8)
    """
    return load(HAXBY, download_if_missing)


def _of_nilearn() -> Arrays:
    try:
        import nibabel
        from nilearn.datasets import fetch_haxby
    except ImportError as error:
        raise ImportError(f'{error}; pip install "preimage[neuro]" installs what is needed') from error
    files = fetch_haxby(subjects=[1])  # says what it downloads
    images: list[Any] = [nibabel.load(file[0]) for file in (files.func, files.mask_vt)]
    values, mask = (np.asanyarray(image.dataobj) for image in images)
    return task_volumes(values, mask, *_labels(files.session_target[0]))


def _labels(path: str | Path) -> tuple[Array, Array]:
    """What was looked at during each volume, and in which run; the file has a line of headings."""
    rows = [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines()[1:] if line.strip()]
    looked_at, run = zip(*rows, strict=True)
    return np.asarray(looked_at), np.asarray(run, dtype=np.uint8)


def task_volumes(values: Array, mask: Array, looked_at: Array, run: Array) -> dict[str, Any]:
    """The volumes during which something was looked at, within the mask."""
    voxels = np.argwhere(mask.T > 0)[:, ::-1]  # the first index runs fastest
    task = looked_at != "rest"
    looked_at, run = looked_at[task], run[task]
    label_names, y = np.unique(looked_at, return_inverse=True)
    is_first = np.r_[True, (looked_at[1:] != looked_at[:-1]) | (run[1:] != run[:-1])]
    return {
        "X": values[tuple(voxels.T)][:, task].T.astype(np.int16),
        "y": y.astype(np.uint8),
        "run": run,
        "block": np.cumsum(is_first).astype(np.uint8),
        "voxel_ijk": voxels.astype(np.uint8),
        "label_names": label_names,
    }


HAXBY = DataSet(
    name="haxby_vt",
    page="http://data.pymvpa.org/datasets/haxby2001 (subj1-2010.01.14.tar.gz)",
    arrays={
        "X": ((864, 577), "int16"),
        "y": ((864,), "uint8"),
        "run": ((864,), "uint8"),
        "block": ((864,), "uint8"),
        "voxel_ijk": ((577, 3), "uint8"),
        "label_names": ((8,), "str"),
    },
    sources=(Source("nilearn.datasets.fetch_haxby", _of_nilearn),),
    sha256="fec8a56a84ab7da479c7b24d59f425029b7605865c44b82369f6f37b00ceadeb",
)
