"""What a report says: every sentence follows from one set of findings, so that no two of them disagree."""

from dataclasses import dataclass

from preimage.inflation._comparison import SCORINGS
from preimage.inflation._inflation import SMALLEST_INFLATION
from preimage.inflation._signal import NO, USEFUL_AREA, YES, Signal

MEASURES = dict(zip(SCORINGS, ("balanced accuracy", "the geometric mean of recalls", "accuracy"), strict=True))
# A correction is recommended when its gain is beyond this many standard errors, and there is signal.
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Gain:
    """What correction changes on samples left out.

    Attributes
    ----------
    value, error : float
        Of the smoothed measure; see `compare_decisions`.
    before, after : float
        The measure itself, by counts.
    accuracy_before, accuracy_after : float
        The fraction that is classified right.
    """

    value: float
    error: float
    before: float
    after: float
    accuracy_before: float
    accuracy_after: float

    @property
    def is_clear(self) -> bool:
        """Whether the smoothed measure gains beyond its error, and counts do not fall."""
        return self.value > STANDARD_ERRORS * self.error and self.after >= self.before


@dataclass(frozen=True)
class Findings:
    """What was found about a model of few samples, and the sentences for it.

    Attributes
    ----------
    model : str
        Its name in sentences.
    values : str
        "scores" or "decision values".
    signal : Signal or None
        None without classes.
    ratio : tuple of three floats, or None
        Training over left-out deviation where it is inflated, with two standard errors to either side; the median of
        several components. None where nothing is inflated.
    is_resolved : bool
        Whether left-out values differ by more than rounding errors.
    method : str
        What `Renormalized` does.
    gain : Gain or None
        None without classes.
    scoring : str
    extent : str
        Which components are inflated, such as " of 3 of 5 components"; empty for decisions.
    """

    model: str
    values: str
    signal: Signal | None
    ratio: tuple[float, float, float] | None
    is_resolved: bool
    method: str
    gain: Gain | None
    scoring: str = "balanced_accuracy"
    extent: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether new samples are like none of these, so that nothing can be learned."""
        return self.ratio is not None and not self.is_resolved

    @property
    def recommends_correction(self) -> bool:
        if self.method == "none" or self.is_lost:
            return False
        if self.signal is None or self.gain is None:
            return self.ratio is not None
        return self.signal.verdict == YES and self.gain.is_clear

    def on_signal(self) -> str:
        if self.signal is None:
            return "Unknown without classes; give y."
        area = f"The AUC on samples left out is {self.signal.auc:.2f} ± {self.signal.standard_error:.2f}"
        if self.signal.verdict == YES:
            return f"Yes. {area}; 0.50 is chance."
        if self.signal.verdict == NO:
            return f"No sign of signal. {area}, so that {USEFUL_AREA:.2f} or more is unlikely; 0.50 is chance."
        return f"Cannot tell from so few samples. {area}; 0.50 is chance."

    def on_inflation(self) -> str:
        if self.ratio is None:
            return (
                f"No. The {self.values} of samples left out vary as much as those of training samples, within "
                f"{SMALLEST_INFLATION - 1:.0%} or their uncertainty."
            )
        if not self.is_resolved:
            return f"Yes, beyond measure. The {self.values} of samples left out differ by rounding errors only."
        size, low, high = self.ratio
        return (
            f"Yes. Training {self.values}{self.extent} vary {size:.3g} times ({low:.3g} to {high:.3g}) as much as "
            "those of samples left out."
        )

    def on_correction(self) -> str:
        if self.signal is None or self.gain is None:
            return "Unknown without classes; give y."
        if self.is_lost:
            return "No. Nothing can be learned from rounding errors."
        if self.signal.verdict == NO:
            return "No. Without signal there is nothing to correct."
        measured = (
            f"On samples left out {MEASURES[self.scoring]} changes by {self.gain.value:+.3f} ± {self.gain.error:.3f}"
            f"{self._cost()}."
        )
        if self.method == "none":
            return "No. Nothing that was tried is better than the model as it is."
        if self.recommends_correction:
            return f"Yes. {measured}"
        return f"Perhaps. {measured}"

    def recommendation(self) -> str:
        if self.is_lost:
            return "No correction can be learned. Use a wider kernel (smaller gamma) or fewer variables."
        area = "" if self.signal is None else f" (AUC {self.signal.auc:.2f})"
        if self.signal is not None and self.signal.verdict == NO:
            return (
                f"There is no sign that {self.model} tells the classes of new samples apart{area}. Take more samples, "
                "or fewer variables chosen beforehand; a correction does not help."
            )
        if self.recommends_correction:
            return f"Use Renormalized around {self.model} ({self.method!r}). {self._promise()}"
        if self.signal is not None and self.signal.verdict != YES:
            return (
                f"Whether {self.model} tells the classes of new samples apart is open{area}. More samples would tell."
            )
        if self.method == "none":
            return f"Use {self.model} as it is."
        return (
            f"Use {self.model} as it is, or Renormalized around it ({self.method!r}). The difference is uncertain"
            f"{self._difference()}."
        )

    def _promise(self) -> str:
        if self.gain is None:
            return "Give y as well to see whether there is signal, and whether correction helps."
        change = (
            f"On samples left out {MEASURES[self.scoring]} goes from {self.gain.before:.2f} to {self.gain.after:.2f}"
        )
        if self.scoring == "accuracy":
            return f"{change}."
        return f"{change}, accuracy from {self.gain.accuracy_before:.2f} to {self.gain.accuracy_after:.2f}."

    def _cost(self) -> str:
        if self.gain is None or self.scoring == "accuracy":
            return ""
        return f", and accuracy by {self.gain.accuracy_after - self.gain.accuracy_before:+.3f}"

    def _difference(self) -> str:
        return "" if self.gain is None else f": {self.gain.value:+.3f} ± {self.gain.error:.3f}"
