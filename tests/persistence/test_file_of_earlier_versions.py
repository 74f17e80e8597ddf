"""Files that versions 0.1 and 0.2 wrote are read, and their models answer as they did there.

`files/write.py` wrote them: with the sources of an earlier version on the path, and the name of a folder.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

import preimage
from preimage.exceptions import FileVersionWarning

FILES = Path(__file__).parent / "files"
VERSIONS = ("0.1.0", "0.2.0")
# Pre-images and weights are computed on other routes than then; coordinates and decisions differ by rounding alone.
TOLERANCE = 1e-6


def answers(version):
    return json.loads((FILES / version / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version in VERSIONS for name in answers(version)["models"]]
)
def test_a_file_of_an_earlier_version_is_read_and_answers_as_it_did(version, name):
    known = answers(version)
    queries = np.array(known["queries"])
    if "imputer" in name:
        queries[:, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # scikit-learn says where its own version is another one, and a later one may have written fields of its own.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        warnings.filterwarnings("ignore", r"(?s).*SVC\._effective_probability", FileVersionWarning)
        model = preimage.load(FILES / version / f"{name}.safetensors")
        found = getattr(model, known["models"][name]["method"])(queries)
    np.testing.assert_allclose(found, known["models"][name]["answer"], rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_model_of_an_earlier_version_is_written_and_read_again(version, tmp_path):
    model = preimage.load(FILES / version / "kernel_pca.safetensors")
    preimage.save(model, tmp_path / "again.safetensors")
    queries = np.array(answers(version)["queries"])
    again = preimage.load(tmp_path / "again.safetensors")
    np.testing.assert_array_equal(again.transform(queries), model.transform(queries))
    model.inverse_transform(model.transform(queries))  # which learns its map now


def test_every_folder_has_a_file_for_each_answer():
    for version in VERSIONS:
        written = {path.stem for path in (FILES / version).glob("*.safetensors")}
        assert written == set(answers(version)["models"]) and len(written) > 10
