"""How much memory does every estimator really take, compared with what it is allowed?

Set-up: the routes of `tests/test_memory_net.py` with so many points that a matrix of all pairs, or of all queries and
all points, exceeds the budget. Each route runs in a process of its own, in one thread. Memory is what the process holds
at most (its resident set) beyond what it held with the libraries and the data loaded, so temporary arrays of compiled
code count as well. Where an estimator has no `max_memory`, half of the free memory is the budget, and the process is
told that twice the budget is free.

Observe: no ratio above 1.3. "refused" is a fit that says beforehand that it needs more.

    python benchmarks/faults/peak_memory.py
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]
LIMIT = 1.3


def measure(route):
    """Bytes beyond the start after the fit and after each method, or why the fit was refused."""
    import test_memory_net as net

    import preimage

    preimage._engine.memory._free_host_memory = lambda: 2 * net.BUDGET
    make, data, methods = net.ROUTES[route]
    model, start, taken = make(), held(), {}
    try:
        model.fit(*data)
    except (MemoryError, ValueError) as error:
        if not net.refuses(error):
            raise
        return {"refused": str(error)}
    taken["fit"] = held() - start
    for method in methods:
        net.asked(model, method)()
        taken[method] = held() - start
    return taken


def held():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=9000)
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--budget", type=int, default=256, help="MB")
    parser.add_argument("--only", default="", help="routes that contain this")
    parser.add_argument("--route", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.route:
        print(json.dumps(measure(options.route)))
        return
    os.environ["PREIMAGE_MEMORY_NET"] = f"{options.points} {options.queries} {options.budget * 10**6}"
    os.environ["OMP_NUM_THREADS"] = "1"
    import test_memory_net as net
    from _measure import describe_machine

    print(describe_machine())
    print(f"{options.points} points, {options.queries} queries, {options.budget} MB allowed; MB taken, ratio")
    worst = 0.0
    for route in [route for route in net.ROUTES if options.only in route]:
        command = [sys.executable, __file__, "--route", route]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            worst = float("inf")
            print(f"{route:40} failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
            continue
        taken = json.loads(done.stdout.splitlines()[-1])
        if "refused" in taken:
            print(f"{route:40} refused: {taken['refused'][:90]}", flush=True)
            continue
        ratio = max(taken.values()) / (options.budget * 10**6)
        worst = max(worst, ratio)
        sizes = ", ".join(f"{method} {size / 1e6:.0f}" for method, size in taken.items())
        print(f"{route:40} {ratio:5.2f} {'*' if ratio > LIMIT else ' '} {sizes}", flush=True)
    print(f"Largest ratio {worst:.2f}")
    sys.exit(worst > LIMIT)


if __name__ == "__main__":
    main()
