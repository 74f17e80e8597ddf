"""Forged model files: what is written in them is wrong, and their checksum is right.

A file of every estimator, and of scikit-learn's that files may hold, is taken apart; numbers, types, shapes, names,
fields, classes and references are changed, exchanged, removed or added; it is put together with a right checksum. A
process of its own with little memory loads it and asks the model everything. The law: it is refused with a ValueError,
or gives a model whose answers are numbers or errors of Python. The interpreter never crashes, no array is read outside
of its memory, nothing is executed, nothing waits for ever, and loading takes at most 100 MB beyond the file.

Arrays of the file, and the rows that models are asked about, lie at the end of a page of memory that is followed by one
which cannot be read (or at the beginning, after such a page): one number beyond an array ends the process, and the
process that started it counts a crash.

``python tests/hostile/forgeries.py 20000`` tries as many and prints a table; ``1 300123`` repeats the one with that
seed; a third number says how many processes work at the same time.
"""

import contextlib
import copy
import faulthandler
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from all_estimators import MODELS, X, Y
from guarded_memory import guarded, guarded_empty, lacked_memory, limited
from mutilations import MOST_MEMORY, MOST_SECONDS, edited, measured, watched
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import NMF, LatentDirichletAllocation, MiniBatchDictionaryLearning
from sklearn.impute import KNNImputer
from sklearn.kernel_approximation import AdditiveChi2Sampler, PolynomialCountSketch
from sklearn.linear_model import Lasso, LogisticRegression, SGDClassifier, SGDOneClassSVM, SGDRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MultiLabelBinarizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from preimage import (
    FeatureSpaceNeighborsClassifier,
    KernelFisherDiscriminant,
    KernelKMeans,
    KernelNoveltyDetector,
    KernelPCA,
    SparseGreedyClassifier,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Iterated, Strings
from preimage.persistence import _safetensors
from preimage.persistence._file import from_bytes, to_bytes
from preimage.persistence._safetensors import parts_of_file

GRAM, CSR = X @ X.T, sparse.csr_array(X)
# Estimators of scikit-learn whose methods hand what they learned to compiled code, and a few others.
FOREIGN = {
    "SVC": lambda: SVC().fit(X, Y),
    "SVC with probabilities": lambda: CalibratedClassifierCV(SVC(), ensemble=False).fit(X, Y),
    "SVC of sparse rows": lambda: SVC().fit(CSR, Y),
    "SVC of a precomputed kernel": lambda: SVC(kernel="precomputed").fit(GRAM, Y),
    "SVC of a kernel of ours": lambda: SVC(kernel=Gaussian(0.5)).fit(X, Y),
    "NuSVC": lambda: NuSVC().fit(X, Y > 0),
    "SVR": lambda: make_pipeline(StandardScaler(), SVR()).fit(X, Y),
    "SVR of sparse rows": lambda: SVR(kernel="poly").fit(sparse.csr_matrix(X), Y),
    "NuSVR": lambda: NuSVR().fit(X, Y),
    "OneClassSVM": lambda: OneClassSVM().fit(X),
    "KernelPCA, then SVC": lambda: make_pipeline(KernelPCA(3), SVC()).fit(X, Y),
    "SGDClassifier": lambda: SGDClassifier(average=True).fit(X, Y),
    "SGDRegressor": lambda: SGDRegressor(average=True).fit(X, Y),
    "SGDOneClassSVM": lambda: SGDOneClassSVM(average=True).fit(X),
    "Lasso": lambda: Lasso(0.01, warm_start=True).fit(X, Y),
    "NMF": lambda: NMF(2).fit(X),
    "topics": lambda: LatentDirichletAllocation(2, max_iter=2).fit(X),
    "dictionary": lambda: MiniBatchDictionaryLearning(3, max_iter=2).fit(X),
    "OneHotEncoder": lambda: OneHotEncoder(min_frequency=14, drop="first", sparse_output=False).fit(np.round(X)),
    "OneHotEncoder with NaN": lambda: OneHotEncoder(sparse_output=False).fit(
        np.where(np.round(X) == 0, np.nan, np.round(X))
    ),
    "wide rows, then KernelPCA": lambda: make_pipeline(
        AdditiveChi2Sampler(sample_interval=0.5), OneHotEncoder(sparse_output=False), KernelPCA(2)
    ).fit(np.round(np.abs(X))),
    "OrdinalEncoder": lambda: OrdinalEncoder(min_frequency=14).fit(np.round(X)),
    "TargetEncoder": lambda: TargetEncoder().fit(np.round(X), Y > 0),
    "KBinsDiscretizer": lambda: KBinsDiscretizer(3, encode="onehot-dense").fit(X),
    "MultiLabelBinarizer": lambda: _binarizer(),
    "PolynomialFeatures": lambda: make_pipeline(PolynomialFeatures(2), KernelPCA(2)).fit(X),
    "count sketch": lambda: make_pipeline(PolynomialCountSketch(n_components=8), LogisticRegression()).fit(X, Y),
    "quantiles": lambda: QuantileTransformer(n_quantiles=10).fit(X),
    "KNNImputer": lambda: KNNImputer(n_neighbors=2).fit(X[:9]),
    "projection": lambda: SparseRandomProjection(3, random_state=np.random.RandomState(0)).fit(X),
    "OneVsRest": lambda: OneVsRestClassifier(SVC()).fit(X, Y),
    "CategoricalNB": lambda: CategoricalNB().fit(np.round(X), Y),
    "union": lambda: make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", KernelPCA(2))]), SVC()).fit(X, Y),
    "generators": lambda: make_pipeline(
        StandardScaler(), KernelPCA(2, landmarks=5, random_state=np.random.RandomState(0))
    ),
}
# Models of texts, whose points are letters and ends of texts in a file.
TEXTS = ["kernel", "kernels", "colonel", "wine", "vine", "", "wein", "\u00e9t\u00e9", "\ud800", "kern"]
STRINGS = Strings.spectrum(2) + 0.5 * Strings.blended(3, normalize=False)
IN_TWO = [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]
OF_TEXTS = {
    "KernelPCA of texts": lambda: KernelPCA(2, kernel=STRINGS).fit(TEXTS),
    "landmarks of texts": lambda: KernelPCA(2, kernel=Iterated(Strings(2)), landmarks=4).fit(TEXTS),
    "KernelFisherDiscriminant of texts": lambda: KernelFisherDiscriminant(kernel=STRINGS).fit(TEXTS, IN_TWO),
    "KernelKMeans of texts": lambda: KernelKMeans(2, kernel=STRINGS).fit(TEXTS),
    "KernelNoveltyDetector of texts": lambda: KernelNoveltyDetector(kernel=STRINGS).fit(TEXTS),
    "SparseGreedyClassifier of texts": lambda: SparseGreedyClassifier(4, kernel=STRINGS).fit(TEXTS, IN_TWO),
    "FeatureSpaceNeighbors of texts": lambda: FeatureSpaceNeighborsClassifier(2, kernel=STRINGS).fit(TEXTS, IN_TWO),
}
ALL = MODELS | FOREIGN | OF_TEXTS
METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "transform",
    "score_samples",
    "denoise",
    "inverse_transform",
    "partial_fit",
    "fit",
)
# Loading is limited to `MOST_MEMORY` by the system for every file; of one in so many it is measured as well.
MEASURED = 4
# Seconds that one file may take in all before its process is ended, and memory that using a model may take.
MOST_SECONDS_OF_ALL, MOST_MEMORY_OF_USE = 60, 1_500_000_000
EXTREMES = [0, 1, -1, 2, 3, 7, 100, 10**4, 10**9, 2**31 - 1, -(2**31), 2**62, 0.5, -1.5, 1e-300, 1e300, -1e300]


def _binarizer():
    binarizer = MultiLabelBinarizer().fit([[1, 2], [3], [1]])
    binarizer.transform([[1]])  # it keeps the places of labels from now on
    return binarizer


def forged_file(rng, name):
    """The bytes of a file of the model `name` with one to four things changed."""
    document, arrays = parts(name)
    document, arrays = copy.deepcopy(document), dict(arrays)
    try:
        for _ in range(rng.integers(1, 5)):
            ways = CHANGES if arrays else CHANGES[:-6]
            document = ways[rng.integers(len(ways))](rng, document, arrays) or document
        text = json.dumps(document)
        return b"".join(parts_of_file(text, {key: np.asarray(array, order="C") for key, array in arrays.items()}))
    except (ValueError, KeyError, RecursionError):  # what cannot be written: another try
        return forged_file(rng, name)


def objects(node):
    """Every stored object of a document."""
    if isinstance(node, dict) and isinstance(node.get("state"), dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from objects(part)


def one_of(rng, items):
    items = list(items)
    return items[rng.integers(len(items))]


@cache
def vocabulary():
    """Words, classes and fields that occur in files, to be put where they do not belong."""
    words, classes, fields = set(), set(), []
    for name in folder_names():
        document, arrays = parts(name)
        for each in objects(document["value"]):
            classes.add(each["class"])
            for field, value in each["state"].items():
                fields.append((field, value, arrays))
                words.update([value] if isinstance(value, str) else [])
    return sorted(words), sorted(classes), fields


def any_change(rng, document, arrays):
    return {**document, "value": edited(rng, {"": document["value"]}).get("", None)}


def other_number(rng, document, arrays):
    """Another number, flag or word in place of a field of that kind."""
    state = one_of(rng, objects(document["value"]) or [{"state": {}}])["state"] if _has_objects(document) else {}
    plain = [key for key, value in state.items() if isinstance(value, (bool, int, float, str)) or value is None]
    if plain:
        key = one_of(rng, plain)
        words = [*EXTREMES, True, False, None, *vocabulary()[0]]
        state[key] = one_of(rng, words) if rng.random() < 0.7 else one_of(rng, [True, False, 2, "precomputed"])


def foreign_field(rng, document, arrays):
    """A field of another object, of this or of another file, under its name or another one."""
    if not _has_objects(document):
        return
    state = one_of(rng, objects(document["value"]))["state"]
    field, value, theirs = one_of(rng, vocabulary()[2])
    value = copy.deepcopy(value)
    for reference in _references(value):
        for key in ("array", "sparse", "texts"):
            if key in reference:
                old = reference[key]
                reference[key] = f"{old} again"
                arrays |= {f"{old} again{rest}": theirs[old + rest] for rest in _PARTS if old + rest in theirs}
    state[one_of(rng, state) if state and rng.random() < 0.6 else field] = value


def removed_field(rng, document, arrays):
    if _has_objects(document):
        state = one_of(rng, objects(document["value"]))["state"]
        if state:
            del state[one_of(rng, state)]


def other_class(rng, document, arrays):
    if _has_objects(document):
        one_of(rng, objects(document["value"]))["class"] = one_of(rng, vocabulary()[1])


def reference(rng, document, arrays):
    """An object again, in place of a field."""
    if _has_objects(document):
        state = one_of(rng, objects(document["value"]))["state"]
        if state:
            state[one_of(rng, state)] = {"object": int(rng.integers(5))}


def numbers_changed(rng, document, arrays):
    name = one_of(rng, arrays)
    array = arrays[name].copy()
    if not array.size:
        return
    flat = array.reshape(-1)
    with np.errstate(all="ignore"):
        values = np.array([*EXTREMES, np.nan, np.inf]).astype(array.dtype)
        if array.dtype == bool and rng.random() < 0.5:
            flat = flat.view(np.uint8)
            values = np.arange(256).astype(np.uint8)
        places = rng.integers(array.size, size=rng.integers(1, 4)) if rng.random() < 0.7 else slice(None)
        flat[places] = one_of(rng, values)
    arrays[name] = array


def numbers_moved(rng, document, arrays):
    """Indices and numbers that are shifted, turned round, or repeated."""
    name = one_of(rng, arrays)
    array = arrays[name]
    with np.errstate(all="ignore"):
        step = np.array(one_of(rng, [1, -1, 2, 1000, 10**9, -(10**6)])).astype(array.dtype)
        changes = [
            lambda a: a + step if a.dtype != bool else ~a,
            lambda a: a[::-1] if a.ndim else a,
            lambda a: np.roll(a, 1),
            lambda a: a * step if a.dtype != bool else a,
            lambda a: a * 0 if a.dtype != bool else a,
        ]
        arrays[name] = np.asarray(one_of(rng, changes)(array), dtype=array.dtype)


def sizes_changed(rng, document, arrays):
    name = one_of(rng, arrays)
    array = arrays[name]
    ways = [
        lambda a: a[:-1],
        lambda a: a[..., :-1],
        lambda a: np.concatenate([a, a]),
        lambda a: np.concatenate([a, a[:1]]),
        lambda a: np.repeat(a, 2, axis=-1),
        lambda a: a[:0],
        lambda a: a[:1],
        lambda a: a[..., :1],
        lambda a: a.reshape(-1),
        lambda a: a[None],
        lambda a: a.T,
        lambda a: np.zeros((*a.shape[:-1], 0), a.dtype),
        lambda a: np.zeros((0, 2**40), a.dtype),
    ]
    arrays[name] = one_of(rng, ways)(array) if array.ndim else array[None]


def types_changed(rng, document, arrays):
    name = one_of(rng, arrays)
    kinds = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u1", "?")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays[name] = arrays[name].astype(one_of(rng, kinds))


def arrays_exchanged(rng, document, arrays):
    first = one_of(rng, arrays)
    alike = [name for name in arrays if arrays[name].dtype == arrays[first].dtype]
    second = one_of(rng, alike if rng.random() < 0.7 else arrays)
    arrays[first], arrays[second] = arrays[second], arrays[first]


def array_of_another(rng, document, arrays):
    theirs = parts(one_of(rng, folder_names()))[1]
    if theirs:
        arrays[one_of(rng, arrays)] = one_of(rng, theirs.values())


# The last six need an array.
CHANGES = [
    any_change,
    other_number,
    other_number,
    foreign_field,
    removed_field,
    other_class,
    reference,
    numbers_changed,
    numbers_moved,
    sizes_changed,
    types_changed,
    arrays_exchanged,
    array_of_another,
]
_PARTS = ("", ".data", ".indices", ".indptr", ".letters", ".ends")


def _has_objects(document):
    return next(objects(document["value"]), None) is not None


def _references(node):
    if isinstance(node, dict) and ("array" in node or "sparse" in node or "texts" in node):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _references(part)


# Files of all models, which are made once and read by every process.


def folder():
    return Path(os.environ["PREIMAGE_FORGERIES"])


def make_files(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (name, make) in enumerate(ALL.items()):
            (path / f"{number:03} {name}").write_bytes(to_bytes(make()))


@cache
def folder_names():
    return sorted(path.name for path in folder().iterdir())


@cache
def parts(name):
    """The document and the arrays of a right file."""
    data = (folder() / name).read_bytes()
    document, arrays = _safetensors.read_file(io.BytesIO(data), len(data))
    return document, arrays


# The judge.


class GuardedNumPy:
    """NumPy for the reader of files, whose new arrays of numbers lie in such memory."""

    def __init__(self, at_end):
        self._at_end = at_end

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype):
        return np.empty(shape, dtype) if dtype is object else guarded_empty(shape, dtype, self._at_end)


@contextlib.contextmanager
def guarded_reader(at_end):
    """Let the reader of files put arrays into such memory."""
    before = _safetensors.np
    _safetensors.np = GuardedNumPy(at_end)
    try:
        yield
    finally:
        _safetensors.np = before


def judged(seed):
    """What becomes of one forged file: its name, a word, a message, and the memory that loading took."""
    rng = np.random.default_rng(seed)
    name, at_end = one_of(rng, folder_names()), bool(rng.integers(2))
    data = forged_file(rng, name)
    memory = 0
    with watched() as executed, warnings.catch_warnings(), guarded_reader(at_end):
        warnings.simplefilter("ignore")
        try:
            with limited(MOST_MEMORY + len(data)):
                load = lambda: from_bytes(data)
                model, memory = measured(load, len(data)) if seed % MEASURED == 0 else (load(), 0)
        except ValueError as error:
            memory = error.__dict__.get("memory", 0)
            return name, kind_of_refusal(error), str(error), memory
        except BaseException as error:
            return name, f"AGAINST: loading raised {type(error).__name__}", str(error), memory
    if executed := [event for event, _ in executed if not event.startswith("ctypes.")]:  # ours, of guarded memory
        return name, "AGAINST: executed", str(executed), memory
    slow = rng.integers(3)
    return name, *asked(model, at_end, [each for i, each in enumerate(METHODS) if i < 5 or i % 3 == slow]), memory


def kind_of_refusal(error):
    """What a ValueError of `load` counts as; one that only the limit on memory brought about is against the law."""
    if lacked_memory(error):
        return "AGAINST: refused for want of memory"
    return "refused" if "\n" not in str(error) else "AGAINST: an error of several lines"


def asked(model, at_end, methods):
    """Ask a model everything; what its answers were, and the first error that is not one of Python's usual ones."""
    found, is_ours = "answered", type(model).__module__.startswith("preimage.")
    for method in methods:
        for rows in inputs_of(model, method, at_end):
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    if not hasattr(model, method):
                        break
                    answer = getattr(model, method)(*rows)
            except (ValueError, UnsupportedKernelError, TimeoutError) as error:
                found = "took long" if isinstance(error, TimeoutError) else "answered with our error"
                if found == "took long":
                    return found, f"{method}: {error}"
            except Exception as error:
                kind = type(error).__name__
                if kind == "TypeError" and "Sparse data was passed" in str(error):
                    continue
                # Loading tries these, so that parts which do not fit are found there. Others may fail in Python.
                is_tried = method in ("predict", "decision_function", "predict_proba", "transform")
                against = "AGAINST: " if is_ours and is_tried else ""
                if against or isinstance(error, MemoryError):
                    return f"{against}answered with {kind}", f"{method}: {error}"
                found = "answered with an error of Python"
            else:
                is_number = isinstance(answer, np.ndarray) and answer.dtype.kind == "f"
                if is_ours and is_number and not np.all(np.isfinite(answer)):
                    return "AGAINST: not finite", f"{method} of {type(model).__name__}"
    return found, ""


@cache
def rows_for(at_end):
    many = guarded(X[:12], at_end), guarded(np.round(X[:12]), at_end), guarded(GRAM[:12], at_end)
    return many, Y[:12]


def inputs_of(model, method, at_end):
    if getattr(getattr(model, "kernel", None), "takes_objects", False) and method != "inverse_transform":
        return [(TEXTS, IN_TWO)] if method in ("fit", "partial_fit") else [(TEXTS,), (["", "new"],)]
    (rows, rounded, gram), labels = rows_for(at_end)
    wide = getattr(model, "n_features_in_", None) == GRAM.shape[1]
    if method in ("fit", "partial_fit"):
        return [(gram[:, :12] if wide else rows, labels)]
    if method == "inverse_transform":
        k = getattr(model, "n_components", None)
        return [(guarded(np.ones((2, k)), at_end),)] if type(k) is int and 0 < k < 100 else []
    if method == "denoise":
        return [(rows[:3],)]
    with_gaps = guarded(np.where(rounded == 0, np.nan, rounded), at_end)
    return [(gram,)] if wide else [(rows,), (rounded,), (with_gaps,), (sparse.csr_array(rounded),)]


# Processes.


def worker(first, count):
    """Judge files one after another; every line that is printed says what begins or what has ended."""

    def stop(*_):
        raise TimeoutError(f"took more than {MOST_SECONDS} seconds")

    # Models that a file makes talkative write nowhere.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for name in folder_names():  # what the library does once is no file's doing
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from_bytes((folder() / name).read_bytes())
    with watched():
        pass
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY_OF_USE, used + MOST_MEMORY_OF_USE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    signal.signal(signal.SIGALRM, stop)
    for seed in range(first, first + count):
        print(json.dumps(seed), file=channel, flush=True)
        signal.alarm(MOST_SECONDS)
        try:
            outcome = judged(seed)
        except TimeoutError as error:
            outcome = "", "AGAINST: took long", str(error), 0
        finally:
            signal.alarm(0)
        print(json.dumps([seed, *outcome]), file=channel, flush=True)


def outcomes(first, count):
    """What became of each file; a process that dies is a crash of the file that it was at, and another one goes on."""
    last = first + count
    while first < last:
        command = [sys.executable, __file__, "--worker", str(first), str(last - first)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        errors = []
        drain = threading.Thread(target=lambda pipe=process.stderr, into=errors: into.append(pipe.read()), daemon=True)
        drain.start()
        begun, is_late = None, []
        for line in process.stdout:
            entry = json.loads(line)
            if isinstance(entry, int):
                begun = entry
                clock = threading.Timer(MOST_SECONDS_OF_ALL, _end, (process, is_late))
                clock.start()
            else:
                clock.cancel()
                begun, first = None, entry[0] + 1
                yield entry
        process.wait()
        drain.join()
        if begun is not None:
            clock.cancel()
            what = "AGAINST: hung" if is_late else f"AGAINST: crashed with status {process.returncode}"
            yield [begun, "", what, "".join(errors)[-1500:], 0]
            first = begun + 1
        elif first < last:
            raise RuntimeError(f"the process ended before its work: {''.join(errors)[-2000:]}")


def _end(process, is_late):
    is_late.append(True)
    process.kill()


def main(count, first=0, jobs=1):
    """Try files with seeds from `first` on, in so many processes, and print a table."""
    started, table, worst, against = time.perf_counter(), Counter(), 0, []
    lock = threading.Lock()

    def run(begin, size):
        nonlocal worst
        for seed, name, kind, message, memory in outcomes(begin, size):
            with lock:
                table[kind] += 1
                worst = max(worst, memory)
                if kind.startswith("AGAINST") or memory > MOST_MEMORY:
                    against.append(seed)
                    print(seed, name, kind, message[-1500:], memory, flush=True)

    with tempfile.TemporaryDirectory() as path:
        os.environ["PREIMAGE_FORGERIES"] = path
        make_files(Path(path))
        share = -(-count // jobs)
        threads = [
            threading.Thread(target=run, args=(first + i * share, min(share, count - i * share))) for i in range(jobs)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for kind, number in sorted(table.items()):
        print(f"{number:7} {kind}")
    is_whole = sum(table.values()) == count
    print(
        f"{count} forged files, {len(against)} against the law; at most {worst / 1e6:.1f} MB more memory than the file "
        f"of those that were measured; {time.perf_counter() - started:.0f} s."
    )
    return is_whole and not against


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        worker(*map(int, sys.argv[2:]))
    else:
        sys.exit(not main(*map(int, sys.argv[1:])))
