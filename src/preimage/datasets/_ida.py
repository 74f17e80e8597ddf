"""The thirteen two-class benchmark sets of Rätsch, Onoda and Müller."""

from sklearn.utils import Bunch

from preimage.datasets._files import load

IDA_NAMES = (
    "banana",
    "breast_cancer",
    "diabetis",
    "flare_solar",
    "german",
    "heart",
    "image",
    "ringnorm",
    "splice",
    "thyroid",
    "titanic",
    "twonorm",
    "waveform",
)


def load_ida(name: str) -> Bunch:
    """One of the IDA benchmark sets, with its splits in training and test part.

    Parameters
    ----------
    name : str
        One of `IDA_NAMES`.

    Returns
    -------
    Bunch
        `X` (n, d); `y` (n,), −1 or +1; `is_train` (r, n), each row a split: 100 of them, 20 for image and splice;
        `realisation` (r,), the number of the split in the original benchmark, 0 for one whose number is not known,
        −1 for a random split of the same sizes.

    References
    ----------
    G. Rätsch, T. Onoda, K.-R. Müller, "Soft margins for AdaBoost", Machine Learning 42, 2001.

    Examples
    --------
    >>> from preimage.datasets import load_ida
    >>> banana = load_ida("banana")  # doctest: +SKIP
    >>> X, y = banana.X[banana.is_train[0]], banana.y[banana.is_train[0]]  # doctest: +SKIP
    """
    if name not in IDA_NAMES:
        raise ValueError(f"Unknown IDA set {name!r}; known: {', '.join(IDA_NAMES)}.")
    return load(f"ida_{name}")
