"""Model files made wrong in every way we can think of, and the law that reading them obeys.

Damage (bits flipped, spans lost, moved or repeated, numbers of the header changed) leaves the old checksum: such a file
is refused, or gives the model that was saved. A forgery has a right checksum: it is refused, or gives some model, whose
answers are numbers or a ValueError. In both cases nothing is executed, and loading takes at most 100 MB more memory
than the file has bytes.

``python tests/hostile/mutilations.py 10000`` tries as many and prints a table; ``1 300123`` repeats the one with
that seed.
"""

import copy
import json
import signal
import sys
import time
import tracemalloc
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from all_estimators import MODELS, X
from model_files import arrays_of, document_of, header_of, with_arrays, with_document, with_header

from preimage.exceptions import UnsupportedKernelError
from preimage.persistence._file import from_bytes, to_bytes
from preimage.persistence._registry import SKLEARN_MODULES, registered_classes

# What loading may take beyond the bytes of the file, in memory and in time.
MOST_MEMORY, MOST_SECONDS = 100_000_000, 10
ROWS = X[:3]


@dataclass(frozen=True)
class Outcome:
    """What became of one wrong file."""

    seed: int
    name: str
    how: str
    kind: str  # "refused", "identical", "another model", or what is against the law
    message: str
    memory: int

    @property
    def is_lawful(self):
        return self.kind in ("refused", "identical", "another model") and self.memory <= MOST_MEMORY


def run_mutilation(seed):
    """One wrong file of one estimator: made, loaded, and judged."""
    rng = np.random.default_rng(seed)
    name = list(MODELS)[rng.integers(len(MODELS))]
    how = list(WAYS)[rng.integers(len(WAYS))]
    data = WAYS[how](rng, saved(name))
    return judged(seed, name, how, data, may_differ=how.startswith("forged"))


def judged(seed, name, how, data, may_differ=False):
    """Load wrong bytes of the model `name`, and compare what comes with the law."""
    outcome = lambda kind, message="": Outcome(seed, name, how, kind, message, memory)
    memory = 0
    with watched() as executed, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, memory = measured(lambda: from_bytes(data), len(data))
        except ValueError as error:
            memory = error.__dict__.get("memory", 0)
            return outcome("refused" if "\n" not in str(error) else "an error of several lines", str(error))
        except BaseException as error:
            return outcome(f"raised {type(error).__name__}", str(error))
    if executed:
        return outcome("executed", str(executed))
    if type(model) is not type(original(name)):
        return outcome("another model" if may_differ else "another model of damage", type(model).__name__)
    try:
        found = answers(model)
    except (ValueError, UnsupportedKernelError) as error:
        return outcome("another model" if may_differ else "another model of damage", str(error))
    except Exception as error:
        return outcome(f"answered with {type(error).__name__}", str(error))
    same = found.keys() == answers_of(name).keys()
    same = same and all(np.array_equal(found[key], value) for key, value in answers_of(name).items())
    return outcome("identical" if same else "another model" if may_differ else "another model of damage")


def measured(load, size):
    """The result of `load`, and the memory that it took at most, beyond `size`; errors carry it as an attribute."""
    is_outer = not tracemalloc.is_tracing()
    if is_outer:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    more = lambda: max(0, tracemalloc.get_traced_memory()[1] - before - size)
    try:
        return load(), more()
    except BaseException as error:
        error.memory = more()
        raise
    finally:
        if is_outer:
            tracemalloc.stop()


def answers(model):
    """What a model says of three rows."""
    names = ("predict", "decision_function", "predict_proba", "transform")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {name: getattr(model, name)(ROWS) for name in names if hasattr(model, name)}


@cache
def original(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()


@cache
def saved(name):
    return to_bytes(original(name))


@cache
def answers_of(name):
    return answers(original(name))


# Ways to damage a file: bytes in, bytes out.


def truncated(rng, data):
    return data[: rng.integers(len(data))]


def extended(rng, data):
    return data + rng.bytes(rng.integers(1, 1000))


def flipped_bit(rng, data):
    place = rng.integers(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.integers(8))]) + data[place + 1 :]


def flipped_bytes(rng, data):
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 20)):
        changed[place] = rng.integers(256)
    return bytes(changed)


def flipped_header(rng, data):
    changed, size = bytearray(data), 8 + int.from_bytes(data[:8], "little")
    for place in rng.integers(size, size=rng.integers(1, 4)):
        changed[place] = rng.integers(32, 127) if place > 7 else rng.integers(256)
    return bytes(changed)


def span(rng, data, longest=1000):
    first = rng.integers(len(data))
    return first, min(len(data), first + rng.integers(1, longest))


def zeroed(rng, data):
    first, last = span(rng, data)
    return data[:first] + bytes(last - first) + data[last:]


def lost(rng, data):
    first, last = span(rng, data)
    return data[:first] + data[last:]


def repeated(rng, data):
    first, last = span(rng, data)
    return data[:last] + data[first:last] + data[last:]


def swapped(rng, data):
    size = rng.integers(1, 200)
    first, second = sorted(rng.integers(max(1, len(data) - size), size=2))
    second = max(second, first + size)
    left, right = data[first : first + size], data[second : second + size]
    return data[:first] + right + data[first + size : second] + left + data[second + len(right) :]


def spliced(rng, data):
    """The beginning of one file and the end of another."""
    other = saved(list(MODELS)[rng.integers(len(MODELS))])
    return data[: rng.integers(len(data))] + other[rng.integers(len(other)) :]


NUMBERS = [0, 1, -1, 2, 7, 10**9, 2**31, 2**32, 2**62, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -2.0, 1e308, 1e999]
THINGS = [
    None,
    True,
    "",
    "x" * 100_000,
    [],
    {},
    [[]],
    "float64",
    "../../etc/passwd",
    "os.system",
    {"class": "os.system"},
]
TEXTS = ["[" * 100_000, "[" * 50_000 + "]" * 50_000, "NaN", "1e999", "{}", "null", '{"a":1,"a":2}', "", "\ud800"]


def anything(rng):
    pool = NUMBERS if rng.random() < 0.6 else THINGS
    value = pool[rng.integers(len(pool))]
    return nested(int(rng.integers(1, 3000))) if rng.random() < 0.05 else copy.deepcopy(value)


def nested(depth):
    value = 1
    for _ in range(min(depth, 900)):  # json.dumps cannot write more
        value = [value]
    return value


def places(node, path=()):
    """Where in a document something stands."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from places(part, (*path, key))


def edited(rng, document):
    """A document with something else at one place, or without it, or with a place of another name."""
    document = copy.deepcopy(document)
    spots = list(places(document))
    *path, key = spots[rng.integers(len(spots))]
    node = document
    for step in path:
        node = node[step]
    draw = rng.random()
    if draw < 0.1:
        del node[key]
    elif draw < 0.2 and isinstance(node, dict):
        node["x" * int(rng.integers(1, 3))] = node.pop(key)
    elif draw < 0.4:
        *other, last = spots[rng.integers(len(spots))]
        source = document
        for step in other:
            source = source[step]
        node[key] = copy.deepcopy(source[last])
    else:
        node[key] = anything(rng)
    return document


def changed_table(rng, data):
    """Other types, shapes, places and names of arrays, and the old checksum."""
    header, rest = header_of(data)
    metadata = header.pop("__metadata__")
    table = edited(rng, header) if header else {}
    return with_header({"__metadata__": metadata, **table}, rest)


def twice_named(rng, data):
    header, rest = header_of(data)
    text = json.dumps(header)
    name = list(header)[rng.integers(len(header))]
    return with_header(text[:-1] + "," + json.dumps({name: header[name]})[1:], rest)


def changed_header(rng, data):
    header, rest = header_of(data)
    return with_header(edited(rng, header), rest)


def forged_document(rng, data):
    return with_document(data, edited(rng, document_of(data)))


def forged_text(rng, data):
    text = json.dumps(document_of(data))
    if rng.random() < 0.5:
        return with_document(data, TEXTS[rng.integers(len(TEXTS))])
    constant = ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000, "[" * 5000][rng.integers(6)]
    return with_document(data, text.replace("null", constant, 1).replace("0.", f"{constant},0.", rng.integers(2)))


def forged_arrays(rng, data):
    """Other numbers, types or shapes in one array."""
    arrays = arrays_of(data)
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name].copy()
    how = rng.integers(8)
    if how == 0 and array.size:
        values = np.array([np.nan, np.inf, 1e300, -1e300, 0, -1, 2**31 - 1, 1e-300])
        with np.errstate(all="ignore"):
            array.reshape(-1)[rng.integers(array.size)] = values[rng.integers(len(values))].astype(array.dtype)
    elif how == 1:
        array = array[..., :-1] if array.ndim else array[None]
    elif how == 2:
        array = array[:-1] if array.ndim else array[None]
    elif how == 3:
        array = array.reshape(-1)
    elif how == 4:
        with np.errstate(all="ignore"):
            array = array.astype([np.float32, np.int64, np.uint8, bool][rng.integers(4)])
    elif how == 5:
        array = array[None]
    elif how == 6:
        array = np.zeros((0, *array.shape[1:]), array.dtype)
    else:
        array = -array if array.dtype != bool else ~array
    arrays[name] = np.ascontiguousarray(array) if array.ndim else array
    return with_arrays(data, arrays)


def forged_names(rng, data):
    """Arrays that have changed places."""
    arrays = arrays_of(data)
    first, second = (list(arrays)[i] for i in rng.integers(len(arrays), size=2))
    arrays[first], arrays[second] = arrays[second], arrays[first]
    return with_arrays(data, arrays)


WAYS = {
    "truncated": truncated,
    "extended": extended,
    "flipped bit": flipped_bit,
    "flipped bytes": flipped_bytes,
    "flipped header": flipped_header,
    "zeroed span": zeroed,
    "lost span": lost,
    "repeated span": repeated,
    "swapped spans": swapped,
    "spliced": spliced,
    "changed table": changed_table,
    "changed header": changed_header,
    "name twice": twice_named,
    "forged document": forged_document,
    "forged text": forged_text,
    "forged arrays": forged_arrays,
    "forged names": forged_names,
}

# What a file could make Python do; Python tells its audit hooks.
_EVENTS = ("exec", "compile", "os.", "subprocess.", "pickle.", "ctypes.", "socket.", "open", "import", "shutil.")
_watching = []


def _note(event, arguments):
    is_harmless = event == "open" and str(arguments[0]).startswith(("/proc/", "/sys/"))  # how much memory there is
    if _watching and event.startswith(_EVENTS) and not is_harmless:
        _watching[-1].append((event, str(arguments)[:200]))


@contextmanager
def watched():
    """Collect what is executed, opened or imported inside of the block."""
    _prepare()
    executed = []
    _watching.append(executed)
    try:
        yield executed
    finally:
        _watching.remove(executed)


@cache
def _prepare():
    """Import all that files may name, so that imports of anything else are seen."""
    registered_classes()
    for module in SKLEARN_MODULES:
        import_module(module)
    for name in MODELS:
        from_bytes(saved(name))
    sys.addaudithook(_note)


def main(count, first=0):
    def stop(*_):
        raise TimeoutError(f"loading took more than {MOST_SECONDS} seconds")

    _prepare()  # fits all models, without the alarm
    signal.signal(signal.SIGALRM, stop)
    started, outcomes = time.perf_counter(), []
    for seed in range(first, first + count):
        signal.alarm(MOST_SECONDS)
        outcomes.append(run_mutilation(seed))
        signal.alarm(0)
        if not outcomes[-1].is_lawful:
            print(outcomes[-1])
    table = Counter((outcome.how, outcome.kind) for outcome in outcomes)
    kinds = sorted({kind for _, kind in table})
    print(f"| {'how':16} | " + " | ".join(kinds) + " |\n" + "|---" * (len(kinds) + 1) + "|")
    for how in WAYS:
        print(f"| {how:16} | " + " | ".join(f"{table[how, kind]:{len(kind)}}" for kind in kinds) + " |")
    print(
        f"{count} files, {sum(not outcome.is_lawful for outcome in outcomes)} against the law; at most "
        f"{max(outcome.memory for outcome in outcomes) / 1e6:.1f} MB more memory than the file; "
        f"{time.perf_counter() - started:.0f} s."
    )
    return all(outcome.is_lawful for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(not main(*map(int, sys.argv[1:])))
