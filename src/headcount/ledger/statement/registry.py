"""An account as a record for the public registry of differential privacy deployments.

The fields are those of ``schemas/deployments-schema.yaml`` in ``opendp/deployments-registry-data``,
at commit 3e9c812 of 15 July 2026. A ledger knows the guarantee and the accounting; what it cannot
know, from the name of the product to who may see it, says that people must fill it in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headcount.accounting.convert import epsilon_at, shown
from headcount.ledger.account import Account, Entry
from headcount.ledger.presence import presence_words, windows_in
from headcount.ledger.statement.devices import FLEET
from headcount.ledger.statement.statement import NOT_COVERED, mechanism
from headcount.ledger.statement.windows import added_up, unit_sentences
from headcount.privacy.event import to_record
from headcount.privacy.neighbours import Neighbours
from headcount.version import __version__

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger

FILL = "FILL IN"
"""How a text begins that people must replace."""
POST_PROCESSING = (
    "Counts are rounded and sorted by group, and error bars are worked out from the noise. Where a "
    "verb has them: isotonic and most likely fits of frequencies, shares fitted to the simplex, "
    "and the undoing of a bound by a noisy estimate that was paid for. None reads the data again."
)
TABLE = "Whoever holds the table runs headcount on it."
CORE = (
    "Devices flip their own coins and seal what they send for a counting core, which is trusted: "
    "it sees the answers of the sampled share without knowing whose they are, and lets only large "
    "counts out."
)
DEVICES = (
    " Charges for answers of devices protect one device with all its answers in the period; "
    "devices flip their own coins, and only large counts leave the core."
)


def registry_record(ledger: Ledger, name: str) -> str:
    """The record of one account as YAML, after the whole ledger was checked again."""
    ledger.verify()
    account = ledger.account(name)
    return "".join(f"{line}\n" for line in _yaml(_record(account, ledger.entries(name)), ""))


def _record(account: Account, entries: Sequence[Entry]) -> dict[str, Any]:
    first = entries[0].charged_at[:10] if entries else "1900-01-01"
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", account.name.lower()).strip("_")[-60:] or "account",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": f"{FILL}: the name of the data product",
                "data_curators": [f"{FILL}: who publishes it"],
                "intended_use": f"{FILL}: what it is for",
                "data_product_type": "Summary statistics",
                "data_product_region": f"{FILL}: which region it describes",
                "description": f"{FILL}: what it holds. Released: {_titles(entries)}.",
                "publication_date": first,
            },
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": f"{FILL}: which tables could have been there instead",
                "unprotected_quantities": _public(account),
            },
            "privacy_loss": _loss(account, entries),
            "deployment_model": _model(account, entries),
            "accounting": {
                "post_processing": POST_PROCESSING,
                "composition": _composition(account),
            },
            "implementation": _implementation(entries),
            "administrative": {
                "notes": "What is not covered: " + " ".join(NOT_COVERED),
                "registry_authors": [f"{FILL}: who fills this in"],
            },
        },
    }


def _loss(account: Account, entries: Sequence[Entry]) -> dict[str, Any]:
    columns = sorted({entry.about["user"] for entry in entries if "user" in entry.about})
    told = f", by the column {', '.join(columns)}" if columns else ""
    spent = shown(account.epsilon_spent)
    if account.windows is not None:
        return _loss_of_windows(account, told)
    return {
        "privacy_unit": "user",
        "privacy_unit_details": (
            f"One user with all their rows{told}. Adjacent datasets differ by "
            f"{account.neighbours.sentence}.{_devices(entries)}"
        ),
        "privacy_parameters": {
            "epsilon": float(shown(account.epsilon_limit)),
            "delta": float(account.stated_delta),
        },
        "privacy_parameters_details": (
            "The limit for all releases there will ever be. Charged so far: epsilon "
            f"{spent} at the same delta, by {len(entries)} release(s)."
        ),
    }


def _loss_of_windows(account: Account, told: str) -> dict[str, Any]:
    of = windows_in(account)
    return {
        "privacy_unit": f"user-{of.unit}",
        "privacy_unit_details": f"{unit_sentences(account)} Users are told apart by id{told}.",
        "privacy_parameters": {
            "epsilon": float(shown(epsilon_at(of.limit.rho, of.noise_delta))),
            "delta": float(of.stated_delta),
        },
        "privacy_parameters_details": presence_words(account),
    }


def _devices(entries: Sequence[Entry]) -> str:
    return DEVICES if any(entry.verb == FLEET for entry in entries) else ""


def _public(account: Account) -> str:
    if account.neighbours is Neighbours.REPLACE:
        return "The number of users, lists of groups and all parameters of releases are public."
    return "Lists of groups that were given, and all parameters of releases, are public."


def _model(account: Account, entries: Sequence[Entry]) -> dict[str, Any]:
    analysts = len({entry.analyst for entry in entries})
    return {
        **_trust(entries),
        "actors": (
            f"{FILL}: who holds the raw data and the ledger, who may ask, who sees the releases. "
            f"Analysts that were charged so far: {analysts}."
        ),
        "release_type": "Many releases" if len(entries) != 1 else "One release",
        "release_type_details": _how_often(account),
        "data_source_type": "Static",
        "data_source_type_details": f"{FILL}: whether rows are added over time, and then Dynamic",
        "access_type": "Non-interactive",
        "access_type_details": f"{FILL}: whether analysts ask by themselves, and then Interactive",
    }


def _how_often(account: Account) -> str:
    if account.windows is None:
        return (
            "The budget never resets. Each release is charged before data is read; when the limit "
            f"of epsilon {shown(account.epsilon_limit)} is reached, further ones are refused."
        )
    unit = account.windows.unit
    return (
        f"Each {unit} of the data has a budget, which it gets once: by the time of "
        "its rows, not by the clock. Each release is charged to all windows that it reads, before "
        "data is read."
    )


def _trust(entries: Sequence[Entry]) -> dict[str, str]:
    """Who is trusted with what."""
    of_devices = [entry for entry in entries if entry.verb == FLEET]
    if not of_devices:
        return {"model_name": "Central", "model_name_details": TABLE}
    if len(of_devices) == len(entries):
        return {"model_name": "Federated", "model_name_details": CORE}
    return {"model_name": "Varies", "model_name_details": f"{TABLE} {CORE}"}


def _composition(account: Account) -> str:
    if account.windows is not None:
        return added_up(account)
    return (
        "Delta-approximate rho-zCDP, added up by a ledger, fully adaptive: rho "
        f"{float(account.spent.rho):.6g} of {float(account.limit.rho):.6g} and delta "
        f"{float(account.spent.delta):.3g} of {float(account.limit.delta):.3g} are spent. Epsilon "
        "is worked out from them at the stated delta, rounded up."
    )


def _implementation(entries: Sequence[Entry]) -> dict[str, str]:
    kinds = sorted({part.split(":")[0] for one in entries for part in _parts(one)})
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Contributions of a user are bounded inside each release; bounds that are chosen from "
            f"data are chosen privately and charged. {FILL}: what was looked at before."
        ),
        "mechanisms": (
            f"headcount {__version__}: {', '.join(kinds) or 'none so far'}. Noise is discrete, in "
            "whole numbers, from the operating system's generator; there is no floating-point "
            "noise. Timing is not protected."
        ),
        "justification": f"{FILL}: how the budget and the unit were chosen",
    }


def _parts(entry: Entry) -> list[str]:
    return mechanism(to_record(entry.event)).split("; ")


def _titles(entries: Sequence[Entry]) -> str:
    return "; ".join(dict.fromkeys(entry.title for entry in entries)) or "nothing so far"


def _yaml(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Texts in double quotes, as JSON has them, which YAML reads as the same texts."""
    for name, one in value.items():
        if isinstance(one, Mapping):
            yield f"{indent}{name}:"
            yield from _yaml(one, f"{indent}  ")
        elif isinstance(one, list):
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {json.dumps(item)}" for item in one)
        elif isinstance(one, float):
            # With a point: YAML 1.1 takes 1e-06 for a text.
            text = f"{one:.6e}" if "e" in repr(one) else repr(one)
            yield f"{indent}{name}: {text}"
        else:
            yield f"{indent}{name}: {json.dumps(one)}"
