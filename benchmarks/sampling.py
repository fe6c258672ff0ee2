"""The smallest group that a sample can show, beside what the paper's theorem allows.

One line per case: threshold and rate, and their ratio, which is the size of a group that is shown
about half the time, for epsilon 1 and delta 1e-8. The paper's own numbers are Theorem 1 of Sample
and threshold differential privacy (2022) with basic composition. Everything is computed; nothing
is drawn. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import time

from headcount.accounting.convert import zcdp_of
from headcount.accounting.sampling.composed import composed_delta
from headcount.accounting.sampling.solver import SampledThreshold, best, best_within
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours

EPSILON, DELTA = 1.0, 1e-8
NAMES = {1: "single", 10: "ten", 20: "twenty"}


def theorem_1(epsilon: float, delta: float, n: int) -> float:
    """Threshold over rate by Theorem 1, each of ``n`` samples with its share of both."""
    threshold = math.ceil(3 + math.log(n / delta))
    return threshold / (-math.expm1(-epsilon / n) / threshold)


def line(label: str, chosen: SampledThreshold, paper: float) -> str:
    """One case in words."""
    return (
        f"{label:<34} threshold {chosen.threshold:>3}  rate {float(chosen.rate):.4f}  "
        f"group {chosen.smallest_group:8.1f}   paper {paper:10.0f}   "
        f"ratio {paper / chosen.smallest_group:6.1f}"
    )


def main() -> None:
    """Solve every case and print it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="only what the last line needs")
    quick = arguments.parse_args().quick
    started = time.process_time()
    result = {}
    for n in (1, 10, 20) if quick else (1, 2, 5, 10, 20):
        for neighbours in Neighbours if not quick else (Neighbours.ADD_REMOVE,):
            chosen = best(EPSILON, DELTA, neighbours, n_samples=n)
            rate = float(chosen.rate)
            found = composed_delta(rate, chosen.threshold, EPSILON, neighbours, n)
            if found > DELTA:
                raise SystemExit(f"not certified: {chosen}")
            print(line(f"{n} fresh, {neighbours}", chosen, theorem_1(EPSILON, DELTA, n)))
            if neighbours is Neighbours.ADD_REMOVE and n in NAMES:
                result[NAMES[n]] = round(chosen.smallest_group, 2)
    for answers in (1, 4) if quick else (1, 2, 4, 8, 16):
        limit = zcdp_of(Budget(epsilon=1, delta=1e-6))
        paid = best_within(limit, Neighbours.ADD_REMOVE, n_samples=answers)
        paper = theorem_1(1.0, 1e-6, answers)
        print(line(f"account (1, 1e-6), bound {answers}", paid, paper))
    print(f"{time.process_time() - started:.0f} s of CPU time")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
