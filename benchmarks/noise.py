"""CPU seconds for a million noise draws, ours and OpenDP's, taken in turns in one run.

OpenDP runs in its own environment and reports its own CPU time for each call, so neither its
start-up nor the pipe is in the figure. It takes a list and gives a list, which is its API; ours
gives an array. The last line is JSON.

    python benchmarks/noise.py [--quick]

``HEADCOUNT_ORACLE_PYTHON`` names the oracle's Python (default ``.venvs/oracle/bin/python``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from fractions import Fraction
from pathlib import Path
from typing import IO

from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import OsEntropy

ROOT = Path(__file__).resolve().parents[1]
N = 1_000_000
SCALES = {20: "table", 5000: "wide path, for information"}


def main() -> None:
    """Measure, print one line per law and scale, then the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1e5 OpenDP draws, scaled up")
    quick = parser.parse_args().quick
    oracle = start_oracle()
    speedups = {}
    try:
        for scale, path in SCALES.items():
            for kind in ("laplace", "gaussian"):
                ours, theirs = measure(oracle, kind, scale, quick)
                ratio = theirs / ours
                print(
                    f"{kind:9} scale {scale:5} ({path}): ours {ours:.4f} CPU-s, "
                    f"OpenDP {theirs:.3f} CPU-s per {N:,} draws, {ratio:.0f}x"
                )
                speedups[kind, scale] = ratio
    finally:
        pipe(oracle.stdin).close()
        oracle.wait(timeout=30)
    print(
        json.dumps(
            {
                f"{kind}_speedup_vs_opendp": round(speedups[kind, 20], 1)
                for kind in ("laplace", "gaussian")
            }
        )
    )


def measure(
    oracle: subprocess.Popen[str], kind: str, scale: int, quick: bool
) -> tuple[float, float]:
    """The least CPU seconds per ``N`` draws, ours and theirs, over interleaved rounds."""
    law = (
        DiscreteLaplace(Fraction(scale))
        if kind == "laplace"
        else DiscreteGaussian(Fraction(scale**2))
    )
    entropy = OsEntropy()
    # Making the table is part of our first draw, as it would be in a release.
    begin = time.process_time()
    law.draw(1, entropy)
    build = time.process_time() - begin
    # OpenDP costs about the same per draw at 1e5 and 1e6 draws; the full run does not scale up.
    n_theirs = N // 10 if quick else N
    rounds = 2 if quick or scale != 20 else 3
    ours, theirs = [], []
    for _ in range(rounds):
        for _ in range(3):
            begin = time.process_time()
            law.draw(N, entropy)
            ours.append(time.process_time() - begin)
        theirs.append(ask(oracle, kind, scale, n_theirs) * N / n_theirs)
    return min(ours) + build, min(theirs)


def start_oracle() -> subprocess.Popen[str]:
    """Start the process that draws with OpenDP, and make one small draw to warm it up."""
    python = os.environ.get("HEADCOUNT_ORACLE_PYTHON") or str(ROOT / ".venvs/oracle/bin/python")
    if not Path(python).exists():
        raise SystemExit(
            f"no oracle Python at {python}: make an environment from requirements/oracles.lock "
            "and point HEADCOUNT_ORACLE_PYTHON to its Python"
        )
    program = ROOT / "tests/statistical/oracle/opendp_draws.py"
    oracle = subprocess.Popen(
        [python, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    for kind in ("laplace", "gaussian"):
        ask(oracle, kind, 20, 1000)
    return oracle


def ask(oracle: subprocess.Popen[str], kind: str, scale: int, n: int) -> float:
    """Have OpenDP draw once; the CPU seconds it took."""
    order = {"kind": kind, "scale": float(scale), "n": n, "keep": False}
    to_oracle = pipe(oracle.stdin)
    to_oracle.write(json.dumps(order) + "\n")
    to_oracle.flush()
    answer = json.loads(pipe(oracle.stdout).readline())
    return float(answer["cpu_seconds"][0])


def pipe(end: IO[str] | None) -> IO[str]:
    """An end of the oracle's pipe, which is always there."""
    if end is None:
        raise RuntimeError("the oracle was started without pipes")
    return end


if __name__ == "__main__":
    main()
