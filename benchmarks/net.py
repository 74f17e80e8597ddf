"""Do all estimators give right answers, or clear errors, on random kernels and random data?

Set-up: each problem is one number: rows of random shape and condition (tiny, huge, far from zero, repeated, empty,
on a line, in single precision), a kernel composed by random algebra, and one of the estimators. Answers are compared
with extended precision where there is an oracle, and with laws otherwise (`tests/net`).

Observe: no line but "oracle", "laws" and "refused". What is refused is listed with its reason, most frequent first.

    python benchmarks/net.py --problems 2000 --jobs 4
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from joblib import Parallel, delayed

PATHS = [str(Path(__file__).parents[1] / "tests" / folder) for folder in (".", "net", "oracles")]
sys.path[:0] = PATHS


def outcomes(seeds):
    sys.path[:0] = PATHS  # in a process of its own
    from net_problem import run

    return [run(seed) for seed in seeds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="120 problems")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + (120 if arguments.quick else arguments.problems))
    parts = [seeds[start::50] for start in range(50)]
    started = time.perf_counter()
    found = [each for part in Parallel(arguments.jobs)(delayed(outcomes)(part) for part in parts) for each in part]
    for outcome in found:
        if not outcome.is_right:
            print(f"{outcome.kind}, problem {outcome.seed}, {outcome.name}\n{outcome.message}\n")
    report(found)
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(any(not outcome.is_right for outcome in found))


def report(found):
    kinds = ["oracle", "laws", "refused", "wrong", "non-finite", "LinAlgError", "raw error", "broken check"]
    counts = Counter((outcome.name, outcome.kind) for outcome in found)
    print(f"{'':28}" + "".join(f"{kind:>13}" for kind in kinds))
    for name in [*sorted({outcome.name for outcome in found}), "all"]:
        row = [sum(count for (n, k), count in counts.items() if name in (n, "all") and k == kind) for kind in kinds]
        print(f"{name:28}" + "".join(f"{count:>13}" for count in row))
    reasons = Counter(outcome.message.split(";")[0][:100] for outcome in found if outcome.kind == "refused")
    print("\nRefused because")
    for reason, count in reasons.most_common(12):
        print(f"{count:6}  {reason}")


if __name__ == "__main__":
    main()
