"""Brain volumes of a person who looks at pictures."""

from sklearn.utils import Bunch

from preimage.datasets._files import load


def load_haxby() -> Bunch:
    """Haxby's object recognition: 864 volumes of 577 ventral-temporal voxels, eight kinds of pictures, one subject.

    The values are raw: remove at least a linear trend and standardise each voxel within each run before use, and leave
    out whole runs in cross-validation.

    Returns
    -------
    Bunch
        `X` (864, 577) of int16, one row for each task volume; `y` (864,), a number into `label_names` (8,); `run` and
        `block` (864,), 12 runs and 96 blocks; `voxel_ijk` (577, 3), positions in the 40 × 64 × 64 volume.

    References
    ----------
    J. Haxby et al., "Distributed and overlapping representations of faces and objects in ventral temporal cortex",
    Science 293, 2001.
    """
    return load("haxby_vt")
