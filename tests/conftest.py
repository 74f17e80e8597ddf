"""Fixtures: array namespaces, block shapes, real data."""

import os
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
from chromium import chromium, started_chromium  # noqa: F401 (fixtures of tests in a browser)
from firefox import firefox  # noqa: F401
from hypothesis import settings

from preimage._engine.rows import forced_block_shape

# Data sets beside the checkout serve where the environment names no folder; nothing is downloaded for the tests.
BESIDE_CHECKOUT = Path(__file__).parents[2] / "shared" / "data"
if BESIDE_CHECKOUT.is_dir():
    os.environ.setdefault("PREIMAGE_DATA", str(BESIDE_CHECKOUT))

# Machines under load are slow now and then; that is no failure of a property.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Shells let jobs in the background ignore interrupts, and their children inherit that. Tests send interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Namespace:
    """An array library as tests see it: arrays in, NumPy out."""

    def __init__(self, name):
        self.name = name
        if name == "torch":
            self.module = pytest.importorskip("torch", reason="torch is not installed")
        elif name == "array_api_strict":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.module = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
        else:
            self.module = np

    def asarray(self, values, dtype=float):
        values = np.array(values, dtype=dtype)
        if self.name == "read-only numpy":
            values.flags.writeable = False
            return values
        return self.module.asarray(values)

    def __repr__(self):
        return self.name


@pytest.fixture(params=["numpy", "read-only numpy", "array_api_strict", "torch"])
def xp(request):
    """Each array library in turn."""
    return Namespace(request.param)


@pytest.fixture(params=[(1000, 1000), (7, 5), (16, 11)], ids=["one block", "many blocks", "ragged blocks"])
def block_shape(request):
    """Blocks that hold everything, that divide the data, and that leave a rest."""
    with forced_block_shape(*request.param):
        yield request.param


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# Random and damaged problems, oracles in extended precision, machines that fail: `make test-all` runs these folders.
NETS = {"hostile", "net", "oracles"}
TESTS = Path(__file__).parent


def pytest_ignore_collect(collection_path, config):
    """Leave out folders of nets unread where nets are left out: every process would import them for nothing."""
    is_net = collection_path.parent == TESTS and collection_path.name in NETS
    return True if is_net and config.option.markexpr == "not net" else None


@pytest.hookimpl(tryfirst=True)  # marks are there before tests are chosen by them
def pytest_collection_modifyitems(config, items):
    # Processes that share the tests compare their names, and addresses differ between processes.
    addressed = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if addressed:
        raise pytest.UsageError(f"Names of tests have no addresses of objects in them; give ids: {addressed[0]}")
    if "SCIPY_ARRAY_API" not in os.environ:  # see tests/estimators/test_array_api_checks.py
        for_scipy = [item for item in items if "check_array_api" in item.name]
        config.hook.pytest_deselected(items=for_scipy)
        items[:] = [item for item in items if "check_array_api" not in item.name]
    configurations = {}
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        in_a_browser = {"chromium", "firefox"} & set(getattr(item, "fixturenames", ()))
        if folder in NETS or in_a_browser or is_another_configuration(item, configurations):
            item.add_marker(pytest.mark.net)


def is_another_configuration(item, first):
    """Whether scikit-learn checks an estimator here whose class it checked with other parameters before."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if not {"estimator", "check"} <= set(parameters):
        return False
    estimator = parameters["estimator"]
    return first.setdefault((item.path, item.originalname, type(estimator)), estimator) is not estimator
