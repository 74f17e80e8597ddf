"""Every number that a page claims to have measured comes from a script, and the texts agree with it.

`docs/claims.toml` ties sentences to records: JSON files that benchmark scripts write with ``--record``, or reports in
``docs/results`` that they write with ``--output``. Cheap records are measured again here.
"""

import json
import re
import runpy
import sys
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from data import data_directory
from for_each import for_each
from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
TABLE = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))
CLAIMS, GIVEN = TABLE["claim"], TABLE["given"]
# A page is looked at from its first claim on; pages for users always, which say what to expect.
FOR_USERS = [path for folder in ("start", "guides") for path in (ROOT / "docs" / folder).glob("*.md")]
PAGES = sorted(
    {entry["page"] for entry in (*CLAIMS, *GIVEN)} | {path.relative_to(ROOT).as_posix() for path in FOR_USERS}
)
RECORDS = sorted((RESULTS / "records").glob("*.json"))
# Pages about the reports are written by hand.
REPORTS = sorted(set(RESULTS.glob("*.md")) - {RESULTS / name for name in ("index.md", "performance.md", "missed.md")})

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
# Not part of a name such as float32, sha-3 or x₁, and not the rest of another number.
FREE_NUMBER = re.compile(rf"(?<![\w.\-+^‖]){NUMBER}(?![\w^‖])")
COUNTS = "two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|fifty|hundred|thousand"
COUNTED = re.compile(rf"\b(?:(?:{COUNTS}|half a) (?:times|points?|per cent|seconds?)|twice|thrice)\b", re.IGNORECASE)
# Texts round: 0.682 is quoted as 0.68, 17.8 as 18.
TOLERANCE = 0.05


def prose(page):
    """The text of a page without code, formulas, directives and link targets, each run of white space one blank."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", " ", text, flags=re.DOTALL)
    text = re.sub(r"^:(?:::.*|\w[\w-]*:.*)$", " ", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"\s+", " ", text)


def spans(template, text):
    """Matches of a template in a text: `{}` stands for a number, `{_}` for one that does not matter."""
    pattern = re.escape(re.sub(r"\s+", " ", template))
    pattern = pattern.replace(re.escape("{}"), f"({NUMBER})").replace(re.escape("{_}"), NUMBER)
    return list(re.finditer(pattern, text))


def as_number(text):
    return float(text.replace(",", ""))


def unit_in_last_place(text):
    digits = text.partition("e")[0].partition(".")[2]
    return 10.0 ** -len(digits)


def recorded(value):
    """The number that a script wrote, or the quotient of two of them, and the file it wrote."""
    if "over" in value:
        parts = {key: value[key] for key in value if key != "over"}
        place = "line" if "line" in value else "key"
        (above, path), (below, _) = recorded(parts), recorded(parts | {place: value["over"]})
        return above / below, path
    if "record" in value:
        path = RESULTS / "records" / f"{value['record']}.json"
        return json.loads(path.read_text(encoding="utf-8"))["values"][value["key"]], path
    path = RESULTS / value["report"]
    text = path.read_text(encoding="utf-8")
    if "section" in value:
        (text,) = [part for part in re.split(r"^#+ ", text, flags=re.MULTILINE) if part.startswith(value["section"])]
    found = spans(value["line"], re.sub(r"\s+", " ", text))
    assert len(found) == 1, f"{path.name} has {len(found)} places like {value['line']!r}; the claim needs one."
    return as_number(found[0][1]), path


def untied(text, claims, given):
    """Numbers of a text that no claim and no given number covers."""
    covered = [match.span() for claim in claims for match in spans(claim["text"], text)]
    covered += [match.span() for each in given for match in spans(each["text"], text)]
    # Inline code shows how to call something; only prose claims.
    covered += [match.span() for match in re.finditer(r"`[^`]*`", text)]
    numbers = [*FREE_NUMBER.finditer(text), *COUNTED.finditer(text)]
    inside = lambda number: any(start <= number.start() and number.end() <= end for start, end in covered)
    return [text[max(0, n.start() - 40) : n.end() + 20] for n in numbers if not inside(n)]


@for_each("page", PAGES)
def test_every_number_is_tied_to_a_record_or_given(page):
    claims = [claim for claim in CLAIMS if claim["page"] == page]
    given = [each for each in GIVEN if each["page"] == page]
    missing = untied(prose(page), claims, given)
    assert not missing, f"{page}: no entry of docs/claims.toml covers the numbers in {missing}."


def test_a_number_without_a_record_is_found():
    text = "It is 3.5 times faster, takes 12 s in float32 with `KernelPCA(32)`, and twice as long on a GPU."
    assert len(untied(text, [], [])) == 3
    assert len(untied(text, [{"text": "is {} times faster"}], [{"text": "takes 12 s"}])) == 1


@for_each("claim", CLAIMS, ids=lambda claim: f"{claim['page']}: {claim['text'][:50]}")
def test_texts_agree_with_what_was_measured(claim):
    found = spans(claim["text"], prose(claim["page"]))
    assert len(found) == 1, f"{claim['page']} has {len(found)} places like {claim['text']!r}; the claim needs one."
    said, values = found[0].groups(), claim["values"]
    assert len(said) == len(values), f"{len(said)} numbers are said and {len(values)} recorded."
    for text, value in zip(said, values, strict=True):
        measured, path = recorded(value)
        allowed = max(claim.get("tolerance", TOLERANCE) * abs(measured), 0.51 * unit_in_last_place(text))
        assert abs(as_number(text) - measured) <= allowed, f"the text says {text}; {path.name} has {measured}."


@for_each("given", GIVEN, ids=lambda given: f"{given['page']}: {given['text'][:50]}")
def test_given_numbers_are_still_in_the_text(given):
    assert given["why"] and spans(given["text"], prose(given["page"]))


@for_each("path", RECORDS, ids=lambda path: path.stem)
def test_records_say_how_they_were_obtained(path):
    contents = json.loads(path.read_text(encoding="utf-8"))
    script = (ROOT / contents["script"]).read_text(encoding="utf-8")
    assert re.search(rf'\brecord\(\s*"{path.stem}"', script), f"{contents['script']} does not write this record."
    assert contents["script"] in contents["command"]
    assert "NumPy" in contents["machine"] and "BLAS" in contents["machine"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", contents["date"])
    assert contents["settings"] and contents["values"]
    assert all(np.isfinite(value) for value in contents["values"].values())


@for_each("path", REPORTS, ids=lambda path: path.stem)
def test_reports_name_their_scripts_and_versions(path):
    text = path.read_text(encoding="utf-8")
    scripts = set(re.findall(r"benchmarks/[\w/]+\.py", text))
    assert scripts and all((ROOT / script).exists() for script in scripts), scripts
    assert "NumPy" in text and "scikit-learn" in text


@for_each("path", REPORTS, ids=lambda path: path.stem)
def test_reports_speak_of_measurements_and_not_of_their_history(path):
    text = path.read_text(encoding="utf-8")
    for phrase in (r"\bbars? (?:of |[≤\d])", r"[#(.] ?bars?\b", r"earlier implementation", r"library existed"):
        assert not re.search(phrase, text, re.IGNORECASE), f"{path.name} says {phrase!r}."


def run_script(name):
    """What a benchmark script defines, by name."""
    before = list(sys.path)
    try:
        return runpy.run_path(str(ROOT / name), run_name="not main")
    finally:
        sys.path[:] = before


# Records that a few seconds can confirm: the settings that make them quick, and the absolute tolerance, which covers
# other versions of NumPy and scikit-learn (ROC areas and accuracies move by rounding of a few ranks).
CHEAP = {
    "novelty": ({"tasks": ["digits", "breast cancer (Wisconsin)"]}, 0.005, None),
    "width_rules": ({"sets": ["ionosphere"]}, 1.0, "ionosphere.npz"),
}


@pytest.mark.net
@pytest.mark.parametrize("name", CHEAP)
def test_cheap_records_are_measured_again(name):
    settings, tolerance, needs = CHEAP[name]
    directory = data_directory()
    if needs and (directory is None or not (directory / needs).exists()):
        pytest.skip(f"{needs} is absent; PREIMAGE_DATA names the folder that has it")
    contents = json.loads((RESULTS / "records" / f"{name}.json").read_text(encoding="utf-8"))
    values = run_script(contents["script"])["measure"](**(contents["settings"] | settings))
    parts = next(iter(settings.values()))
    checked = [key for key in values if key.startswith(tuple(f"{part}," for part in parts))]
    assert checked
    for key in checked:
        assert values[key] == pytest.approx(contents["values"][key], abs=tolerance), key


def test_denoising_of_the_first_draw_is_measured_again():
    """The choices of the report, refitted: three errors of docs/results/denoising_digits.md."""
    script = run_script("benchmarks/papers/denoising_digits.py")
    text = (RESULTS / "denoising_digits.md").read_text(encoding="utf-8").partition("## Training digits noisy")[0]
    digits = load_digits().data / 16
    rng = np.random.default_rng(0)
    digits = digits[rng.permutation(len(digits))]
    noisy = digits + script["NOISE"] * rng.standard_normal(digits.shape)
    n_train = script["N_TRAIN"]
    data = digits[:n_train], noisy[n_train:], digits[n_train:]
    methods = {
        "linear PCA": (script["linear_errors"], int),
        "scikit-learn": (script["peer_errors"], lambda gamma, q, alpha: (float(gamma), int(q), float(alpha))),
        "fixed point": (
            partial(script["our_errors"], script["FAMILIES"]["fixed point"]),
            lambda gamma, q, name: (float(gamma), int(q), name),
        ),
    }
    for name, (errors, parse) in methods.items():
        (row,) = re.findall(rf"^\| {name} \| (.*) \|$", text, flags=re.MULTILINE)
        first, *_, chosen = row.split(" | ")
        (again,) = errors(*data, only=parse(*chosen.split(", "))).values()
        assert again == pytest.approx(float(first), rel=0.02), name
