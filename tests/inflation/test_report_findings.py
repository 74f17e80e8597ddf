"""Whatever was found, no two sentences of a report disagree, and each has its number."""

from itertools import product

from for_each import for_each

from preimage.inflation._comparison import Gain, Signal
from preimage.inflation._report import Findings

SIGNALS = {
    "yes": Signal(0.9, 0.1, 1e-4),
    "unclear": Signal(0.62, 0.12, 0.15),
    "no": Signal(0.5, 0.1, 0.5),
    "unknown": None,
}
RATIOS = {"none": (None, True), "inflated": ((3.2, 2.5, 4.1), True), "lost": ((1e9, 1e8, 1e10), False)}
GAINS = {
    "clear": Gain(0.2, 0.05, 0.6, 0.8, 0.85, 0.8),
    "uncertain": Gain(0.02, 0.05, 0.6, 0.62, 0.85, 0.8),
    "smoothed only": Gain(0.2, 0.05, 0.6, 0.58, 0.85, 0.8),
    "loss": Gain(-0.02, 0.05, 0.6, 0.58, 0.85, 0.8),
}


def all_findings():
    for signal, ratio, gain, method in product(SIGNALS, RATIOS, GAINS, ("none", "threshold")):
        found = Gain(0.0, 0.0, 0.6, 0.6, 0.85, 0.85) if method == "none" else GAINS[gain]
        gains = None if signal == "unknown" else found
        yield Findings("SVC", "decision values", SIGNALS[signal], *RATIOS[ratio], method, gains)


@for_each("found", list(all_findings()), ids=str)
def test_no_two_sentences_disagree(found):
    signal, correction, advice = found.on_signal(), found.on_correction(), found.recommendation()
    assert signal.startswith("No sign") <= correction.startswith("No.")
    assert advice.startswith("Use Renormalized") == found.recommends_correction
    if found.signal is not None:
        assert correction.startswith("Yes.") == found.recommends_correction
        assert found.recommends_correction <= signal.startswith("Yes.")
    assert ("no sign" in advice) <= signal.startswith("No sign")
    assert ("is open" in advice) <= signal.startswith("Cannot tell")
    assert ("Renormalized" in advice) <= (
        correction.startswith(("Yes", "Perhaps", "Unknown")) and found.method != "none"
    )
    assert found.on_inflation().startswith("No") == (found.ratio is None)
    assert ("No correction" in advice) <= correction.startswith(("No.", "Unknown"))


@for_each("found", list(all_findings()), ids=str)
def test_two_short_sentences_and_a_number(found):
    texts = [found.on_signal(), found.on_inflation(), found.on_correction(), found.recommendation()]
    for text in texts:
        assert text.endswith(".") and text.count(". ") <= 1 and len(text) < 190
    if found.signal is not None:
        assert f"{found.signal.auc:.2f} ±" in found.on_signal()


def test_what_is_optimised_and_what_it_costs_are_said():
    found = Findings("SVC", "decision values", SIGNALS["yes"], *RATIOS["inflated"], "threshold", GAINS["clear"])
    assert "balanced accuracy changes by +0.200 ± 0.050, and accuracy by -0.050" in found.on_correction()
    assert "balanced accuracy goes from 0.60 to 0.80, accuracy from 0.85 to 0.80" in found.recommendation()
