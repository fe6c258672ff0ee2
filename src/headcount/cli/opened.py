"""Opening a dataset from a shell, where the account may not exist yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import headcount as hc

if TYPE_CHECKING:
    from headcount.releases.dataset import Dataset


def opened(source: str, user: str, **said: Any) -> Dataset:
    """The dataset; an account that is not there needs a budget, which the first release opens."""
    try:
        return hc.open(source, user=user, **said)
    except hc.NoAccountError as error:
        raise hc.NoAccountError(
            f"{str(error).split(', and no budget')[0]}. Say what may ever be spent on these "
            "people: --budget 3. This release is a part of that. If they are the people of an "
            "account that exists (a copy, or a file that was renamed and written to), use that "
            "one: --account '...'. If there should be an account, check the ledger's place: "
            "headcount ledger show. Nothing was charged."
        ) from None
