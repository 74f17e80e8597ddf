"""From names to reducers."""

import pytest

from preimage.kernels import CallableKernel, Gaussian, Sigmoid
from preimage.reduced_sets import REDUCERS, Construct, Distill, Refine, Select, as_reducer


@pytest.mark.parametrize(
    ("kernel", "has_data", "expected"),
    [
        (Gaussian(), True, Distill),
        (Gaussian(), False, Refine),
        (Sigmoid(), False, Distill),
        (CallableKernel(lambda X, Y: X @ Y.T), True, Select),
    ],
    ids=["data", "no data", "indefinite", "no gradient"],
)
def test_the_default_depends_on_kernel_and_data(kernel, has_data, expected):
    assert type(as_reducer("auto", kernel, has_data=has_data)) is expected


def test_names_are_reducers_with_default_parameters_and_reducers_stay():
    mine = Construct(n_starts=8)
    assert as_reducer(mine, Gaussian(), has_data=True) is mine
    for name in REDUCERS.names[1:]:
        assert repr(as_reducer(name, Gaussian(), has_data=True)).endswith("()")


@pytest.mark.parametrize("method", ["merge", None, Construct])
def test_other_names_are_refused(method):
    with pytest.raises(ValueError, match="known are 'auto', 'select'"):
        as_reducer(method, Gaussian(), has_data=True)
