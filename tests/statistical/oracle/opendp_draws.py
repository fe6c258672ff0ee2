"""Runs in the oracle's environment: draws with OpenDP and writes them as JSON.

Reads ``{"kind": "laplace" | "gaussian", "scale": float, "n": int, "repeats": int}``, writes
``{"version", "draws" (of the last repeat), "cpu_seconds" (of each)}``. Only the call itself is
timed: OpenDP takes a list and gives a list.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import opendp.prelude as dp


def main() -> None:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    for line in sys.stdin:
        order = json.loads(line)
        if order["kind"] == "laplace":
            noise = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=order["scale"])
        else:
            noise = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=order["scale"])
        zeros = [0] * order["n"]
        seconds = []
        draws: list[int] = []
        for _ in range(order.get("repeats", 1)):
            begin = time.process_time()
            draws = noise(zeros)
            seconds.append(time.process_time() - begin)
        answer = {
            "version": version("opendp"),
            "draws": draws if order.get("keep", True) else [],
            "cpu_seconds": seconds,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
