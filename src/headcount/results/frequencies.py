"""A release of frequencies: its rows, and the properties that can be read from them."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from headcount.results.facts import BAR_SDS
from headcount.results.release import CLASSES, Release

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.postprocess.frequencies import Estimate, Frequencies


class FrequencyRelease(Release):
    """How many groups have each count. All properties are free: they look at the rows alone.

    Columns: ``count``, ``groups`` with exactly it, ``or_more`` groups with it or more,
    ``noisy_groups`` before post-processing, and ``low``, ``high`` and ``sd`` of ``groups``.
    """

    def frequencies(self) -> Frequencies:
        """The rows as arrays, with the errors that were stated."""
        import numpy as np

        from headcount.postprocess.frequencies import Errors, Frequencies

        table, numbers = self.to_arrow(), dict(self.facts.stated)
        noise_sd = numbers.pop("noise_sd")
        return Frequencies(
            counts=np.asarray(table.column("count"), np.int64),
            groups=np.asarray(table.column("groups"), np.float64),
            sds=np.asarray(table.column("sd"), np.float64),
            errors=Errors(
                **{part.name: numbers.get(part.name, math.nan) for part in fields(Errors)}
            ),
            noise_sd=noise_sd,
        )

    def distinct(self) -> Estimate:
        """How many groups there are that anyone is in."""
        return self.frequencies().distinct()

    def entropy(self) -> Estimate:
        """The entropy of a random row's group, in nats."""
        return self.frequencies().entropy()

    def coverage(self, more: float) -> Estimate:
        """How many new groups ``more`` times as many further rows would show; at most 0.5."""
        return self.frequencies().coverage(more)

    def support_size(self) -> Estimate:
        """How many groups there are at least, seen or not; refused where noise drowns it."""
        return self.frequencies().support_size()

    @property
    def expected_error(self) -> float:
        """The sum over groups, matched by rank, of how far their counts are likely off."""
        return self.frequencies().errors.l1


CLASSES["frequencies"] = FrequencyRelease


def stated_numbers(frequencies: Frequencies) -> dict[str, float]:
    """The public numbers that a stored release needs to answer for its properties."""
    numbers = {"noise_sd": frequencies.noise_sd, **asdict(frequencies.errors)}
    return {name: number for name, number in numbers.items() if math.isfinite(number)}


def rows_of(
    frequencies: Frequencies,
    noisy_counts: NDArray[np.int64],
    noisy_groups: NDArray[np.int64],
    most: float = math.inf,
) -> Any:
    """One row per fitted count, with how many noisy counts were exactly there.

    ``most``: how many groups there can be, where that is public.
    """
    import numpy as np
    import pyarrow as pa

    counts, groups = frequencies.counts, frequencies.groups
    half_width = BAR_SDS * frequencies.sds
    seen = dict(zip(noisy_counts.tolist(), noisy_groups.tolist(), strict=True))
    return pa.table(
        {
            "count": pa.array(counts, pa.int64()),
            "groups": pa.array(groups, pa.float64()),
            "or_more": pa.array(frequencies.at_least, pa.float64()),
            "noisy_groups": pa.array([seen.get(count, 0) for count in counts.tolist()], pa.int64()),
            "low": pa.array(np.maximum(0.0, groups - half_width), pa.float64()),
            "high": pa.array(np.minimum(most, groups + half_width), pa.float64()),
            "sd": pa.array(frequencies.sds, pa.float64()),
        }
    )
