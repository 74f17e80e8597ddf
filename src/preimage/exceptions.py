"""Errors and warnings of the library; messages say what raised them, what was needed, what was given, and a remedy."""

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "FileVersionWarning",
    "IndefiniteKernelWarning",
    "RankWarning",
    "UnsupportedKernelError",
]


class UnsupportedKernelError(TypeError):
    """A kernel lacks what an operation needs: a gradient, an inverse profile, values between new points.

    See Also
    --------
    preimage.solvers.Gradient : Works with every kernel that has a gradient.
    preimage.solvers.LearnedMap : Works without one.

    Examples
    --------
    The message says what was needed, what was given, and what to do:

    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.exceptions import UnsupportedKernelError
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> try:
    ...     KernelPCA(2, kernel="laplacian", preimage="fixed_point").fit(X).denoise(X)
    ... except UnsupportedKernelError as error:
    ...     print(str(error).partition(";")[0])
    FixedPoint needs a kernel of the squared distance or of the inner product
    """


class FileVersionWarning(UserWarning):
    """A model file was written by a later version of this library, or has fields that the installed one does not know.

    The message names both versions. Warnings about files of another scikit-learn are its own
    ``InconsistentVersionWarning``.

    See Also
    --------
    preimage.load : Reads a file.

    Examples
    --------
    >>> import os, tempfile, warnings
    >>> import numpy as np
    >>> from preimage import KernelPCA, load
    >>> model = KernelPCA(2).fit(np.eye(3))
    >>> model.note_ = "of the first series"
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model.save(os.path.join(folder, "model.safetensors"))
    ...     again = load(os.path.join(folder, "model.safetensors"))
    >>> [each.category.__name__ for each in caught], again.note_
    (['FileVersionWarning'], 'of the first series')
    """


class IndefiniteKernelWarning(UserWarning):
    """The kernel has negative eigenvalues on these data, so feature space is not Euclidean.

    See Also
    --------
    preimage.geometry.mercer_report : Where and how much a kernel is indefinite.
    preimage.kernels.Iterated : Makes a kernel of an indefinite similarity.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.exceptions import IndefiniteKernelWarning
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelPCA(5, kernel="sigmoid", gamma=2.0).fit(X)
    >>> [each.category.__name__ for each in caught]
    ['IndefiniteKernelWarning']
    """


class RankWarning(UserWarning):
    """The data determine fewer components than were requested.

    See Also
    --------
    preimage.KernelPCA : Keeps the components that the data determine.
    ConvergenceWarning : A result that is not accurate enough.

    Examples
    --------
    Points on a line have one linear component:

    >>> import warnings
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelPCA(2, kernel="linear").fit(np.outer(np.arange(5.0), [1.0, 2.0]))
    >>> model.n_components_, [each.category.__name__ for each in caught]
    (1, ['RankWarning'])
    """
