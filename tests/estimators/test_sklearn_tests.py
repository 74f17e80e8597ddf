"""scikit-learn's own tests of kernel PCA, with this class in place of theirs.

The only adaptation is the default kernel, which is "linear" there. Tests that cannot pass are named with the reason,
which the guide explains ("Coming from scikit-learn"); they must go on failing, so that the list stays true.
"""

import types

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

from preimage import KernelPCA

if parse_version(sklearn.__version__) < parse_version("1.9"):
    pytest.skip("the tests of scikit-learn 1.9 are asked for", allow_module_level=True)
theirs = pytest.importorskip("sklearn.decomposition.tests.test_kernel_pca", reason="scikit-learn without its tests")

DIFFERENCES = {
    "test_kernel_pca_raise_not_fitted_error": "the way back is there by default, and needs no fitting in advance",
    "test_precomputed_kernel_not_psd": "indefinite kernels bring a warning and components ordered by modulus",
    "test_kernel_conditioning": "components that rounding errors decide are left out instead of filled with zeros",
    "test_remove_zero_eig": "data without any variance in feature space are an error",
}


def linear_by_default(n_components=None, **parameters):
    return KernelPCA(n_components, **{"kernel": "linear", **parameters})


@pytest.fixture(params=range(3))
def global_random_seed(request):
    """scikit-learn's fixture of this name; its suite takes one seed at a time."""
    return request.param


def adapted(test):
    ours = types.FunctionType(test.__code__, {**test.__globals__, "KernelPCA": linear_by_default}, test.__name__)
    ours.pytestmark = list(getattr(test, "pytestmark", []))
    if test.__name__ in DIFFERENCES:
        ours.pytestmark.append(pytest.mark.xfail(reason=DIFFERENCES[test.__name__], strict=True).mark)
    return ours


globals().update({name: adapted(test) for name, test in vars(theirs).items() if name.startswith("test_")})


def test_every_difference_is_a_test_of_theirs():
    assert all(hasattr(theirs, name) for name in DIFFERENCES)
