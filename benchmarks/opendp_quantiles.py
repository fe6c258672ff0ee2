"""Runs in the oracle's environment: quantiles by OpenDP, chosen among public candidates.

The first line is ``{"values": [...], "candidates": [...]}``. Each later one is
``{"at": [...], "rho": float, "runs": int}``: every quantile gets an equal part of rho, and the
scale is the least that OpenDP's own map allows. The answer holds the chosen candidates by run.
"""

from __future__ import annotations

import json
import sys

import opendp.prelude as dp


def main() -> None:
    """Answer orders until the pipe is closed."""
    dp.enable_features("contrib")
    values: list[float] = []
    candidates: list[float] = []
    for line in sys.stdin:
        order = json.loads(line)
        if "values" in order:
            values, candidates = order["values"], order["candidates"]
            continue
        chosen: list[list[float]] = [[] for _ in range(order["runs"])]
        for at in order["at"]:
            measurement = _measurement(candidates, at, order["rho"] / len(order["at"]))
            for run in chosen:
                run.append(measurement(values))
        print(json.dumps(chosen), flush=True)


def _measurement(candidates: list[float], at: float, rho: float) -> dp.Measurement:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()

    def make(scale: float) -> dp.Measurement:
        return dp.m.make_private_quantile(
            *space, dp.zero_concentrated_divergence(), candidates, at, scale
        )

    scale = dp.binary_search_param(make, d_in=1, d_out=rho, T=float)
    return make(scale)


if __name__ == "__main__":
    main()
