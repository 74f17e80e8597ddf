"""Random problems for the claims of all estimators: ``python tests/laws/claims_search.py --problems 5000 --seed 1``."""

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from claims_lines import LINES
from claims_problem import DATA, Problem

from preimage.exceptions import UnsupportedKernelError

# The one component of rows that a kernel hardly tells apart is kept with this warning, as there is no better one.
FOREWARNING = "Rounding errors show in the only component"


@dataclass(frozen=True)
class Outcome:
    """`false` lists what the model says that is not so; `refused` is why there is nothing that it could say."""

    line: str
    problem: Problem
    false: tuple = ()
    refused: str = ""

    def __str__(self):
        return f"{self.line}: {self.problem}: " + "; ".join(f"{claim}: {what}" for claim, what in self.false)


def random_problem(line, seed):
    """The problem of a line and a number; it does not depend on which other lines there are."""
    rng = np.random.default_rng([seed, *line.name.encode()])
    return Problem(
        data=str(rng.choice([data for data in DATA if data not in line.without])),
        width=round(float(rng.uniform(-4, 4)), 2),
        dtype=str(rng.choice(["float64", "float64", "float32"])),
        route=str(rng.choice(line.routes)),
        seed=int(seed),
        kernel=str(rng.choice(line.kernels)),
    )


def judge(line, problem):
    """Fit by the route of the problem, and compute again what the model says."""
    try:
        fitted = line.fit(line.estimator(problem), problem, line.targets(problem))
    except (ValueError, UnsupportedKernelError, MemoryError) as error:
        return _refused(line, problem, error)
    if any(str(given.message).startswith(FOREWARNING) for given in fitted.warnings):
        return Outcome(line.name, problem, refused=FOREWARNING)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for claim in line.claims:
            claim(fitted)
    return Outcome(line.name, problem, tuple(fitted.found))


def _refused(line, problem, error):
    """A refusal is true where the rows have hardly any variance in feature space; elsewhere it is a false statement."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, np.linalg.LinAlgError):
        return Outcome(line.name, problem, (("a clear error", text),))
    X = problem.X.astype(float)
    K = problem.values(X, X)
    H = np.eye(len(X)) - 1 / len(X)
    largest = np.linalg.eigvalsh((H @ K @ H).astype(float))[-1] / np.trace(K)
    if largest > {"float64": 1e-8, "float32": 1e-3}[problem.dtype]:
        return Outcome(line.name, problem, (("refused only what cannot be done", text[:150]),))
    return Outcome(line.name, problem, refused=text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=5000)
    parser.add_argument("--seed", type=int, help="of the first problem, the others follow; drawn if not given")
    parser.add_argument("--only", default="", help="lines whose names begin so")
    parser.add_argument("--route", default="")
    parser.add_argument("--grid", action="store_true", help="every combination of set, width, precision and route")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = int(np.random.default_rng().integers(2**31))
        print(f"Problems {options.seed} to {options.seed + options.problems - 1}")
    start, n_false, n_refused, routes, claims = time.time(), 0, 0, Counter(), Counter()
    count = 0
    for line, problem in problems(options):
        count += 1
        try:
            outcome = judge(line, problem)
        except Exception:
            print("BROKEN", line.name, problem)
            traceback.print_exc()
            n_false += 1
            continue
        n_refused += bool(outcome.refused)
        if outcome.false:
            n_false += 1
            routes[line.name, problem.route, problem.dtype] += 1
            claims.update((line.name, claim) for claim, _ in outcome.false)
            print(outcome, flush=True)
    for counter in (routes, claims):
        for key, number in counter.most_common():
            print(f"{number:5d}  {', '.join(key)}")
    print(f"{n_false} of {count} false, {n_refused} refused, {time.time() - start:.0f} s")
    return int(n_false > 0)


def problems(options):
    if options.grid:
        for line in LINES:
            for data in DATA:
                if data in line.without:
                    continue
                for width in (-4, -2, 0, 2, 4):
                    for dtype in ("float64", "float32"):
                        for route in line.routes:
                            if line.name.startswith(options.only) and route.startswith(options.route):
                                yield line, Problem(data, width, dtype, route, options.seed)
        return
    lines = [line for line in LINES if line.name.startswith(options.only)]
    found, seed = 0, options.seed
    while found < options.problems:
        line = lines[seed % len(lines)]
        problem = random_problem(line, seed)
        seed += 1
        if problem.route.startswith(options.route):
            found += 1
            yield line, problem


if __name__ == "__main__":
    sys.exit(main())
