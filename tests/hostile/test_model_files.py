"""Wrong model files are refused in one line, or give the model that was saved; none costs memory, time or safety."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from all_estimators import MODELS
from model_files import document_of, header_of, with_document, with_header
from mutilations import MOST_MEMORY, judged, measured, run_mutilation, saved
from scipy import sparse

import preimage
from preimage import KernelPCA
from preimage.exceptions import FileVersionWarning
from preimage.kernels import Gaussian, Patches, ScaledInputs, Warped
from preimage.persistence._file import from_bytes, to_bytes

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(8, 4))
# A run of 17 ways on 27 models: each way about 20 times. `mutilations.py` itself runs thousands.
COUNT = 340


@pytest.mark.parametrize("part", range(4))
def test_wrong_files_obey_the_law(part):
    outcomes = [run_mutilation(seed) for seed in range(part, COUNT, 4)]
    assert not [outcome for outcome in outcomes if not outcome.is_lawful]
    assert {"refused", "identical"} <= {outcome.kind for outcome in outcomes}


@pytest.mark.parametrize("name", MODELS)
def test_every_byte_counts(name):
    """A bit in the numbers, in the description or in the checksum: the file is refused, or the bit says nothing."""
    data = saved(name)
    for place in RNG.integers(len(data), size=5):
        damaged = bytearray(data)
        damaged[place] ^= 1 << RNG.integers(8)
        assert judged(0, name, "bit", bytes(damaged)).kind in ("refused", "identical")


def test_huge_numbers_from_flipped_bits_are_refused():
    model = KernelPCA(2, gamma=0.1).fit(POINTS)
    data = bytearray(to_bytes(model))
    data[-1] ^= 0x40  # the exponent of the last number
    with pytest.raises(ValueError, match=r"damaged.*checksum"):
        from_bytes(bytes(data))


def refusal(data):
    """The error of loading, whose memory is within the law."""
    with pytest.raises(ValueError) as caught:
        measured(lambda: from_bytes(data), len(data))
    assert caught.value.memory <= MOST_MEMORY
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 700
    return str(caught.value)


@pytest.mark.parametrize("size", [10**9, 2**31, 2**62, 2**64, 10**400])
@pytest.mark.parametrize("where", ["shape", "place", "both"])
def test_declared_sizes_are_compared_with_the_file(size, where):
    header, rest = header_of(saved("KernelPCA"))
    entry = next(entry for name, entry in header.items() if name != "__metadata__" and len(entry["shape"]) == 2)
    if where != "place":
        entry["shape"] = [entry["shape"][0], size]
    if where != "shape":
        entry["data_offsets"][1] = entry["data_offsets"][0] + entry["shape"][0] * size * 8
    assert "damaged" in refusal(with_header(header, rest))


def test_a_declared_number_of_features_asks_for_no_memory():
    for name in set(MODELS) - {"WidthSearch"}:  # which keeps a number, and has no use for columns
        document = document_of(saved(name))
        text = json.dumps(document).replace('"n_features_in_": 4', '"n_features_in_": 1000000000')
        refusal(with_document(saved(name), text.replace('"n_features_in": 4', '"n_features_in": 1000000000')))


def test_sparse_points_may_have_many_columns_without_memory_for_them():
    rows = sparse.csr_array((np.ones(3), ([0, 1, 2], [0, 5, 10**9 - 1])), shape=(3, 10**9))
    data = to_bytes(preimage.feature_space.Expansion(ScaledInputs(Gaussian(0.1), np.ones(1)), rows, np.ones((3, 1))))
    _, memory = measured(lambda: from_bytes(data), len(data))
    assert memory < MOST_MEMORY


@pytest.mark.parametrize("values", ["[],", "{},", "1,", '"a",', "[[[1.5]]],"])
def test_long_descriptions_take_bounded_memory(values):
    data = saved("KernelPCA")
    for count in (10**5, 10**6):
        document = '{"format":"preimage.model","version":1,"value":[' + values * count + "0]}"
        refusal(with_document_unchecked(data, document))


def with_document_unchecked(data, text):
    header, rest = header_of(data)
    header["__metadata__"] = {"preimage": text}
    return with_header(header, rest)


def test_one_long_text_among_many_short_ones_is_refused():
    document = document_of(to_bytes(np.array(["a", "b"])))
    document["value"] = {"strings": ["x" * 10**6] + ["y"] * 1000, "shape": [1001], "type": "U"}
    assert "each would take the 1000000 letters of the longest one" in refusal(with_document(to_bytes([1]), document))


@pytest.mark.parametrize("kernel", [Patches((100, 100), patch=4), Warped(Gaussian(1.0), np.zeros((6000, 1)))], ids=str)
def test_kernels_of_large_matrices_are_loaded_without_them(kernel):
    d = 10_000 if isinstance(kernel, Patches) else 1
    data = to_bytes(preimage.feature_space.Expansion(kernel, np.zeros((1, d)), np.ones((1, 1))))
    loaded, memory = measured(lambda: from_bytes(data), len(data))
    assert memory < MOST_MEMORY and type(loaded.kernel) is type(kernel)


def test_a_large_file_is_held_once(tmp_path):
    model = KernelPCA(2, gamma=0.1).fit(POINTS)
    model.extra_ = np.zeros(5 * 10**6)
    model.save(tmp_path / "model")
    size = (tmp_path / "model").stat().st_size
    with pytest.warns(FileVersionWarning, match="extra_"):
        _, memory = measured(lambda: preimage.load(tmp_path / "model"), size)
    assert memory < 0.2 * size


def test_what_is_no_file_is_refused_at_once(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "locked").write_bytes(saved("KernelPCA"))
    (tmp_path / "locked").chmod(0)
    for name, expected, message in [
        ("empty", ValueError, "damaged, cut off"),
        ("folder", ValueError, "a folder, not a file"),
        ("pipe", ValueError, "a pipe or a device"),
        ("/dev/zero", ValueError, "a pipe or a device"),
        ("loop", OSError, "symbolic links"),
        ("nothing", FileNotFoundError, "No such file"),
    ]:
        with pytest.raises(expected, match=message) as caught:
            preimage.load(tmp_path / name)
        assert name in str(caught.value) and "\n" not in str(caught.value)
    if os.geteuid() != 0:
        with pytest.raises(PermissionError):
            preimage.load(tmp_path / "locked")


def test_a_process_with_little_memory_can_refuse(tmp_path):
    """The same in memory of the system: a child that may take 100 MB more than it has refuses every bomb."""
    header, rest = header_of(saved("KernelPCA"))
    name = next(name for name in header if name != "__metadata__")
    bombs = {
        "shape": with_header(header | {name: {"dtype": "F64", "shape": [10**9], "data_offsets": [0, 8 * 10**9]}}, rest),
        "length": (2**40).to_bytes(8, "little") + b"{" + bytes(100),
        "values": with_document_unchecked(saved("KernelPCA"), "[" + "[]," * 10**6 + "0]"),
        "depth": with_document_unchecked(saved("KernelPCA"), "[" * 10**6),
        "header": with_header("[" + "[]," * 10**6 + "0]", b""),
        "pickle": pickle.dumps(os.system, protocol=2),
    }
    for each, data in bombs.items():
        (tmp_path / each).write_bytes(data)
    script = f"""
import resource, preimage
from preimage.persistence._file import from_bytes
from pathlib import Path
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {MOST_MEMORY}, used + {MOST_MEMORY}))
for path in sorted(Path({str(tmp_path)!r}).iterdir()):
    try:
        preimage.load(path)
    except ValueError as error:
        print("refused", path.name)
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs Linux to say how much memory a process has")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split("\n")[:-1] == [f"refused {each}" for each in sorted(bombs)], done.stderr
