"""What a machine or a detector decides, as a page computes it: functions of inputs, and the rule for their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import in_memory, to_dense, to_numpy
from preimage._engine.typing import Array, Rows, Seed
from preimage._engine.warnings import unwarned
from preimage._models.machines import (
    Binary,
    Detection,
    DistanceDetection,
    KernelMachine,
    Logistic,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
)
from preimage.estimators import compress
from preimage.explorer._precision import counted, percent, shown
from preimage.interop import machine_of
from preimage.interop._page import kernel_record

# Rounding to single precision that decisions may suffer, in their standard deviations: a hundredth of what is seen.
MOST_ROUNDING = 1e-4


@dataclass(frozen=True)
class Decision:
    """A fitted machine, detector or discriminant, with what it says of the drawn rows.

    Attributes
    ----------
    estimator : fitted estimator
        The last step of what the user passed.
    machine : KernelMachine
    rule : dict
        How values of its functions are read, see `rule_of`.
    predicted : array of shape (n,)
        Numbers of classes, predictions of a regression, or decisions of a detector, from the estimator itself.
    """

    estimator: Any
    machine: KernelMachine
    rule: dict[str, Any]
    predicted: np.ndarray

    @classmethod
    def of(cls, whole: Any, last: Any, given: Rows) -> Decision:
        """What a model decides on the drawn rows `given`, where `last` is the last step of the model."""
        machine = machine_of(last)
        rule = rule_of(last, machine.output)
        with unwarned():
            if rule["kind"] == "inside":
                predicted = to_numpy(in_memory(whole.decision_function(given))).reshape(-1).astype(np.float64)
            else:
                found = to_numpy(in_memory(whole.predict(given))).reshape(-1)
                predicted = _codes(found, rule["names"]) if rule["kind"] == "classes" else found.astype(np.float64)
        return cls(last, machine, rule, predicted)

    def record(
        self, front: Any, rows: np.ndarray, n_points: int, random_state: Seed
    ) -> tuple[dict[str, Any], list[str]]:
        """The entry of the page, and what should be said of it.

        Parameters
        ----------
        front : Front
            From rows of the user to inputs of the machine.
        rows : array of shape (n, D)
            The drawn rows.
        n_points : int
            Machines of more points are compressed.
        """
        machine, notes = self.machine, []
        Z = front(rows)
        if to_numpy(machine.expansion.points).shape[0] > n_points:
            machine = machine_of(compress(self.estimator, n_points, X=Z, random_state=random_state))
            notes = self._lost(machine, Z)
        kernel, shift = machine.expansion.kernel.unshifted()
        points = _double(machine.expansion.points)
        if shift is not None:
            points, front = points - _double(shift), front.shifted(_double(shift))
        coefficients = _rounded(_double(machine.expansion.coefficients), kernel(front(rows), points))
        record = {
            **self.rule,
            **_constants(machine.output),
            "front": front.record(),
            "n_features": kernel.inputs_of_points(points).shape[1],
            "kernel": kernel_record(kernel, points),
            "points": points,
            "coefficients": coefficients,
            "intercept": np.broadcast_to(_double(machine.intercept), coefficients.shape[1:]).copy(),
            "predicted": self.predicted.astype(np.int32) if self.rule["kind"] == "classes" else self.predicted,
        }
        return record, notes

    def _lost(self, machine: KernelMachine, Z: np.ndarray) -> list[str]:
        n_points, n_original = (to_numpy(each.expansion.points).shape[0] for each in (machine, self.machine))
        before, after = (_answers(each, Z) for each in (self.machine, machine))
        said = f"The page decides with {counted(n_points, 'point')} in place of the machine's {n_original:,}: "
        if self.rule["kind"] == "values":
            moved = np.sqrt(np.mean((after - before) ** 2)) / (float(np.std(before)) or 1.0)
            return [f"{said}predictions move by {percent(float(moved))} of their spread."]
        return [f"{said}{percent(float(np.mean(before != after)))} of the drawn rows are decided differently."]


def rule_of(estimator: Any, output: Output) -> dict[str, Any]:
    """How a page reads the values of functions.

    ``{"kind": "classes", "names", "rule"}`` has the rule "sign" (one function, the second class where it is positive),
    "largest" (one function per class) or "pairs" (one per pair of classes, in the order of `itertools.combinations`);
    ``{"kind": "inside", "rule"}`` has "sign" or "distance"; ``{"kind": "values"}`` is a prediction.
    """
    if isinstance(output, (Binary, OneVsOne, OneVsRest, Logistic)) and not getattr(output, "multilabel", False):
        rule = "pairs" if isinstance(output, OneVsOne) else "sign" if output.n_functions == 1 else "largest"
        return {"kind": "classes", "rule": rule, "names": [shown(each) for each in np.asarray(output.classes).tolist()]}
    if isinstance(output, Detection):
        return {"kind": "inside", "rule": "sign"}
    if isinstance(output, DistanceDetection):
        return {"kind": "inside", "rule": "distance"}
    if isinstance(output, Regression) and output.n_functions == 1:
        return {"kind": "values", "rule": "value"}
    raise TypeError(
        f"explore shows decisions between classes, inside and outside, and predictions of one number; got "
        f"{type(estimator).__name__} with the output {output!r:.100}. Calibrated classifiers are shown by the "
        "classifier inside; of several labels or targets, fit one machine for each."
    )


def _constants(output: Output) -> dict[str, float]:
    """Numbers that belong to rules."""
    if isinstance(output, DistanceDetection):
        return {"squared_length": float(output.squared_length), "offset": float(output.offset)}
    return {"threshold": float(getattr(output, "threshold", 0.0))}


def _codes(labels: np.ndarray, names: list[str]) -> np.ndarray:
    """Numbers of predicted classes with these names."""
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[shown(label)] for label in labels.tolist()])


def _answers(machine: KernelMachine, Z: np.ndarray) -> np.ndarray:
    values = to_numpy(machine.expansion(Z)) + np.asarray(machine.intercept)
    return np.asarray(machine.output.predict(values)).reshape(-1)


def _rounded(coefficients: np.ndarray, values: Array) -> np.ndarray:
    """Coefficients in single precision, unless functions of the drawn rows, given by kernel values, change by that."""
    with np.errstate(over="ignore", under="ignore"):
        single = coefficients.astype(np.float32)
    exact, rough = values @ coefficients, values @ single.astype(np.float64)
    spread = np.std(exact, axis=0)
    return single if np.all(np.max(np.abs(exact - rough), axis=0) <= MOST_ROUNDING * spread) else coefficients


def _double(array: Any) -> np.ndarray:
    with unwarned():
        return np.ascontiguousarray(to_numpy(to_dense(array)), dtype=np.float64)
