"""Objects on a turntable."""

from sklearn.utils import Bunch

from preimage.datasets._files import load


def load_coil20() -> Bunch:
    """COIL-20: 20 objects, 72 views of each in steps of five degrees, 32 × 32 grey pixels.

    Returns
    -------
    Bunch
        `X` (1440, 1024) of uint8, images row by row, consecutive rows being consecutive views; `y`, the object, 1 … 20.

    References
    ----------
    S. Nene, S. Nayar, H. Murase, "Columbia Object Image Library (COIL-20)", report CUCS-005-96, 1996.
    """
    return load("coil20")
