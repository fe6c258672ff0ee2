"""``hc.Series``: releases that repeat, each window of each of them once.

The ledger is the truth and files are drawn from it. A run may be killed at any moment, and any
number of them may run at once: what is due is found anew each time, a key is charged once, the
first result that is stored is the one that everybody shows, and files come by a rename.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.errors import BudgetError, HeadcountError, KeyReusedError, LedgerError, UsageError
from headcount.ledger.ledger import Ledger
from headcount.privacy.argument import NOTHING, checked_by, flag, items, optional, text, whole
from headcount.privacy.budget import Budget
from headcount.releases.accounts import default_ledger
from headcount.screens import quoted
from headcount.series import written
from headcount.series.due import Due, State, due
from headcount.series.expectations import warnings
from headcount.series.file import read_file
from headcount.series.files import check_place, write_rows
from headcount.series.manifest import check_known, write_manifest
from headcount.series.paid import KEY, Named, Paid, paid_of, stored
from headcount.series.price import DryRun, dry_run
from headcount.series.ran import Ran, look_at
from headcount.series.renamed import refused
from headcount.tables.by import truncate

if TYPE_CHECKING:
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan
    from headcount.results.release import Release

Progress = Callable[[str], None]
RUN = {
    "only": optional(lambda value, name: tuple(items(value, name, 1000, f"{name}=['pages']"))),
    "until": optional(written.day),
    "backfill": flag,
    "revise": optional(text("revise='pages/2026-03-01'")),
}


def _silent(_: str) -> None:
    """The default progress: none."""


class Series:
    """Releases that repeat, as a file declares them: every window of each is released once.

    path: the file, such as ``releases.yaml``; paths in it are from its folder on
    """

    def __init__(self, path: str | Path) -> None:
        self._file = read_file(path)
        self._ledger: Ledger | None = None
        self._data: Dataset | None = None

    def run(
        self,
        *,
        only: Sequence[str] | None = None,
        until: date | str | None = None,
        backfill: bool = False,
        revise: str | None = None,
        progress: Progress = _silent,
    ) -> Ran:
        """Release every window that is due, oldest first, and write its file.

        only:      names of releases: the others are left for another time
        until:     the last day that a window may end with
        backfill:  let a release with a new name pay for windows that were paid for under a name
                   which is not in the file any more
        revise:    a window that was released, such as ``"pages/2026-03-01"``, to be read, drawn and
                   charged once more: rows may have come late
        progress:  is told of each window that was released or written
        """
        given = {"only": only, "until": until, "backfill": backfill, "revise": revise}
        said = checked_by(RUN, given.items())
        again = None if revise is None else self._revised(said["revise"])
        self._data = None  # files may have come since an earlier run
        now = datetime.now(UTC)
        paid, found = self._looked(now, again)
        chosen = self._chosen(found, said["only"])
        ran = Ran()
        ran.failed.update(refused(self._file, paid, chosen, backfill=said["backfill"]))
        for one in chosen:
            if one.release.name in ran.failed:
                look_at(ran, one, now)
                continue
            is_in = said["until"] is None or one.window.last <= said["until"]
            self._do(one, ran, now, is_in=is_in, progress=progress)
        # Others may have released what this run only saw.
        now_paid = self._paid() if ran.released or ran.failed else paid
        self._expect(ran, now_paid)
        if write_manifest(self._file.manifest, _each(now_paid)):
            ran.manifest = str(self._file.manifest)
        return ran

    def missing(self) -> list[str]:
        """The windows that are over and not released, oldest first, by release and first day.

        From the calendar and the ledger: nothing is read and nothing is charged.
        """
        _, found = self._looked(datetime.now(UTC))
        return [one.key for one in found if not one.is_released]

    def dry_run(self, days: int = 365) -> DryRun:
        """What so many days from today on would release and cost, from the file alone."""
        n = checked_by({"days": whole(1, 36_525, "days=365")}, {"days": days}.items())["days"]
        return dry_run(self._file, datetime.now(UTC).astimezone(self._file.clock).date(), n)

    @property
    def _book(self) -> Ledger:
        if self._ledger is None:
            self._ledger = Ledger(default_ledger(self._file.ledger))
        return self._ledger

    def _paid(self) -> dict[Named, list[Paid]]:
        return paid_of(self._book, self._file.account, self._file.window.to)

    def _looked(
        self, now: datetime, again: Named | None = None
    ) -> tuple[dict[Named, list[Paid]], list[Due]]:
        """What was paid for, and what is to be done for each window."""
        paid = self._paid()
        while True:
            try:
                if again is not None and again not in paid:
                    raise _nothing_to_revise(again)
                check_known(self._file.manifest, self._book, paid)
                return paid, due(self._file, paid, now, again)
            except LedgerError:
                # A file may be there of what another run released since the ledger was asked.
                newer = self._paid()
                if newer == paid:
                    raise
                paid = newer

    def _chosen(self, found: list[Due], only: Sequence[str] | None) -> list[Due]:
        names = [release.name for release in self._file.releases]
        for name in only or ():
            if name not in names:
                raise UsageError(
                    f"There is no release {quoted(str(name))} in the file. There are: "
                    f"{', '.join(names)}. {NOTHING}"
                )
        kept = (one for one in found if only is None or one.release.name in only)
        return [one for one in kept if one.is_released or one.window.first not in self._file.lost]

    def _revised(self, key: str) -> Named:
        named = KEY.fullmatch(key)
        if named is None or named[3] is not None:
            raise UsageError(
                f"revise= is a release and a window's first day, such as pages/2026-03-01, "
                f"not {quoted(key)}. {NOTHING}"
            )
        return named[1], written.day(named[2], "the window to revise")

    def _do(self, one: Due, ran: Ran, now: datetime, *, is_in: bool, progress: Progress) -> None:
        """Do what is to be done for one window; what fails keeps no other from being done."""
        if one.state is State.DONE:
            return
        try:
            if one.state is State.LOST:
                ran.lost.append(one.key)
            elif one.state is State.WAIT and is_in:
                ran.waiting.append(one.key)
            elif is_in:
                self._release(one, ran)
                progress(one.key)
                return
        except HeadcountError as error:
            ran.failed[one.key] = error
        if one.state is not State.LOST:
            look_at(ran, one, now)

    def _release(self, one: Due, ran: Ran) -> None:
        if one.state is State.WRITE:
            assert one.paid is not None  # noqa: S101  it was released
            rows = stored(self._book, self._file.account, one.paid)
            write_rows(one.out, rows)
            ran.written.append(one.key)
            return
        check_place(one.out)
        rows = self._drawn(one)
        ran.released.append(one.key)
        write_rows(one.out, rows)

    def _drawn(self, one: Due) -> Release:
        """Through the one door: charged, read, drawn and stored under the key of the window."""
        for is_last in (False, True):
            try:
                # Fresh, since the key alone says which window of which release this is.
                return self._plan(one).release(key=one.key, fresh=True)
            except (KeyReusedError, BudgetError):
                # A question that was paid for is found before anything is asked of a budget; so
                # this is another one, or another run has charged it while this one was planned.
                keys = {entry.key for entry in self._book.entries(self._file.account)}
                if one.key not in keys:
                    raise
                if is_last:
                    break
        raise KeyReusedError(
            f"{one.key} was charged and has no rows yet, and {one.release.name} was edited since: "
            "what was paid for is not what the file says now. Nothing was charged. Put the release "
            "back as it was and run once more; then edit it."
        )

    def _plan(self, one: Due) -> Plan:
        release = one.release
        if self._data is None:
            self._data = self._opened()
        rows = self._data.during(one.window.first, one.window.last)
        plan: Plan = getattr(rows, release.verb)(**release.arguments, spend=release.spend)
        return plan

    def _opened(self) -> Dataset:
        from headcount.releases.open import open as opened

        file, said = self._file, self._file.budget
        return opened(
            file.source,
            user=file.user,
            window=truncate(file.window.column, file.window.to, zone=file.zone),
            budget=Budget(epsilon=said.epsilon, rho=said.rho, delta=said.delta, per=file.window.to),
            lifetime=file.lifetime,
            ledger=self._book,
            account=file.account,
            where=file.where,
            types=file.types,
            memory=file.memory,
        )

    def _expect(self, ran: Ran, paid: dict[Named, list[Paid]]) -> None:
        """Warn of released rows that are not as they were in the window before."""
        expected = {one.name: one.expect for one in self._file.releases if one.expect is not None}
        if not any(key.split("/")[0] in expected for key in ran.released):
            return
        known = {one.key: one for one in _each(paid)}
        for key in ran.released:
            one = known.get(key)
            if one is None or one.release not in expected:
                continue
            before = _before(one, known)
            rows = [
                None if this is None else stored(self._book, self._file.account, this)
                for this in (one, before)
            ]
            assert rows[0] is not None  # noqa: S101  it was released
            ran.warnings += warnings(key, expected[one.release], rows[0], rows[1])

    def __repr__(self) -> str:
        return f"<Series of {len(self._file.releases)} releases from {self._file.account!r}>"


def _each(paid: dict[Named, list[Paid]]) -> list[Paid]:
    """All charges of a series, one by one."""
    return [one for several in paid.values() for one in several]


def _nothing_to_revise(again: Named) -> UsageError:
    name, first = again
    return UsageError(
        f"{name}/{first} was not released so far, so there is nothing to revise. {NOTHING} A run "
        "without --revise releases what is due."
    )


def _before(one: Paid, known: dict[str, Paid]) -> Paid | None:
    """The last release of the window before that has rows."""
    same = (
        other
        for other in known.values()
        if other.release == one.release
        and other.result is not None
        and other.window.first < one.window.first
    )
    return max(same, key=lambda other: (other.window.first, other.revision), default=None)
