"""Answers counted across devices, which leave none of them unprotected. A beginning.

- ``task_file``, ``characters``: what an owner writes, and what is refused.
- ``task``, ``canonical``: a task with its terms, and the hash that names it.
- ``plan``, ``plan_words``: the terms, from what an account may spend, and what they mean.
- ``wire``, ``seal``: bytes of rounds and reports; reports sealed for one round.
- ``answering``: what one device sends in one round.
- ``device``, ``device_*``, ``offer``: the program on a device, with its limits, its folder and its
  words.
- ``evidence``, ``evidence_*``, ``allowed``, ``allowed_file``, ``attesting``, ``device_evidence``:
  which code made a round's key, shown to devices.
- ``core``: sealed reports in, counts from the threshold on out.
- ``store``, ``migrate``, ``intake``: tasks, rounds and sealed posts on PostgreSQL.
- ``ingest``, ``relay``, ``relay_*``, ``tokens``, ``upload``, ``posts``: reports over HTTP, past a
  relay that takes names off, into that store.
- ``serving``, ``asgi``, ``connection``, ``fresh``, ``refusals``: how these two are served.
- ``door``, ``lease``, ``released``: charge, open, count, store, release; each step in one place.
- ``schedule``, ``driver``, ``owner_key``: rounds by the calendar, signed, in a loop.
- ``control``, ``control_*``, ``tokens``: people over HTTP, each by a token of their role.
- ``metrics``, ``control_metrics``, ``control_pages``, ``control_html``, ``control_svg``: what
  whoever runs a fleet sees.
- ``simulate``, ``simulate_*``: all of it on one machine, with devices that are made up.
- ``settings``, ``secret_file``, ``own_folder``: where servers find things; how secrets are kept.
- ``keybox``, ``sandbox``, ``frames``, ``core_process``, ``core_client``: the core in a process of
  its own, with the keys.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount.fleet.device import Device
    from headcount.fleet.device_evidence import Attested
    from headcount.fleet.device_policy import Policy
    from headcount.fleet.offer import Offer, Transport

__all__ = ["Attested", "Device", "Offer", "Policy", "Transport"]

_FOUND_IN = {
    "Attested": "device_evidence",
    "Device": "device",
    "Offer": "offer",
    "Policy": "device_policy",
    "Transport": "offer",
}


def __getattr__(name: str) -> Any:
    """Names are imported when they are used: the core and the store need none of them."""
    if name in _FOUND_IN:
        return getattr(import_module(f"headcount.fleet.{_FOUND_IN[name]}"), name)
    raise AttributeError(f"module 'headcount.fleet' has no attribute {name!r}")
