"""Runs in the oracle's environment: epsilons and noise by dp-accounting, as JSON."""

from __future__ import annotations

import json
import sys

from dp_accounting import dp_event, get_sigma_gaussian
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

ORDERS = [1 + x / 50 for x in range(1, 500)] + [float(x) for x in range(11, 2000, 3)]


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        event = dp_event.SelfComposedDpEvent(
            dp_event.GaussianDpEvent(order["noise_multiplier"]), order["times"]
        )
        rdp = RdpAccountant(ORDERS).compose(event)
        pld = PLDAccountant().compose(event)
        answer = {
            "rdp_epsilon": rdp.get_epsilon(order["delta"]),
            "pld_epsilon": pld.get_epsilon(order["delta"]),
            "sigma": get_sigma_gaussian(order["epsilon"], order["delta"]),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
