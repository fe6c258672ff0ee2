"""Runs in the oracle's environment: deltas of thresholded samples by dp-accounting, as JSON."""

from __future__ import annotations

import json
import math
import sys

from dp_accounting.pld import privacy_loss_distribution as losses
from scipy import stats

HIDDEN = -1


def law(size: int, rate: float, threshold: int) -> dict[int, float]:
    """Logarithms of the chances of what is shown of a group."""
    shown = {x: float(stats.binom.logpmf(x, size, rate)) for x in range(threshold, size + 1)}
    shown[HIDDEN] = float(stats.binom.logcdf(threshold - 1, size, rate))
    return {x: mass for x, mass in shown.items() if not math.isinf(mass)}


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        laws = [law(order["size"] + i, order["rate"], order["threshold"]) for i in (0, 1)]
        answer = {}
        for name, pessimistic in (("least", False), ("most", True)):
            pair = losses.from_two_probability_mass_functions(
                *laws,
                pessimistic_estimate=pessimistic,
                value_discretization_interval=1e-4,
                symmetric=False,
            )
            composed = pair.self_compose(order["n"])
            answer[name] = float(composed.get_delta_for_epsilon(order["epsilon"]))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
