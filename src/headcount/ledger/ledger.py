"""The ledger: accounts, charges, and what was released, in a SQLite file or on PostgreSQL.

Order matters more than anything else here. A charge is committed before data is read; a result is
stored before it is shown; neither is ever taken back. A crash at any point may waste budget, and
never hands any out twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.accounting.compose import cost, cost_in_account
from headcount.errors import LedgerError, NoAccountError, UsageError
from headcount.ledger import asking, charging, opening, parts, pieces, reading
from headcount.ledger import windows as windows_of
from headcount.ledger.account import (
    Account,
    Charge,
    Entry,
    Opening,
    Proof,
    Quota,
    quota_left,
    units_up,
)
from headcount.ledger.account import refusal as refusal
from headcount.ledger.arguments import read
from headcount.ledger.distrust import LOST_WITH_IT
from headcount.ledger.history import History
from headcount.ledger.opened import Opened
from headcount.ledger.storable import LARGEST, storable
from headcount.ledger.stores import roles
from headcount.ledger.windows import WindowBalance, WindowCharge, Windows
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, Windowed, to_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.screens import quoted

if TYPE_CHECKING:
    from headcount.ledger.keys import SigningKey


class Ledger(Opened):
    """Accounts and their charges. Safe to use from many processes at once.

    Whoever only looks makes nothing: the first write makes a ledger that is not there, unless this
    machine saw one in its place.

    address: the path of a file, for one machine; ``postgresql://user@host/database``, for a team
    heads:   the folder that keeps the head of each ledger; ``HEADCOUNT_HEADS`` or the user's
             settings folder when not given
    """

    def open_account(
        self,
        name: str,
        budget: Budget | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        covers: Sequence[str] = (),
        quotas: Sequence[tuple[str, opening.Share]] = (),
        windows: Windows | None = None,
    ) -> Account:
        """The account of this name; opened with ``budget`` if there is none yet.

        covers:   the sources whose people it protects, each by what it is known by: the path of
                  a file, from the root on and without links, or what a server says of a table.
                  ``headcount ledger open --covers`` finds that out from any spelling
        quotas:   analysts, each with what they may spend, or with 0 for nothing more; set with the
                  account or not at all
        windows:  what a window of time is, and what each may spend. ``budget`` is then the limit
                  for all time beside it; without one, the account counts what all windows spend

        A budget is a promise that was made: a different one for an open account is refused. So is
        a source in ``covers`` that belongs to another account: its people have a budget already.
        """
        name, budget = read("account", name, called="name"), read("budget", budget)
        neighbours, covers = read("neighbours", neighbours), read("covers", covers)
        shares, per = read("quotas", quotas), read("windows", windows)
        return self._write(
            lambda writer: opening.open_account(
                writer, self._id, self.analyst, name, budget, neighbours, covers, shares, per
            ),
            "set quotas" if shares else "open accounts and add sources to them",
        )

    def set_quota(self, account: str, analyst: str, budget: opening.Share) -> Quota:
        """Let one analyst spend up to ``budget`` of an account, and nobody without a quota.

        With 0 they may spend nothing more; what they spent stays.
        """
        analyst, budget = read("analyst", analyst), read("share", budget, called="budget")
        whole = self.account(account)
        return self._write(
            lambda writer: opening.set_quota(
                writer, self._id, self.analyst, whole, analyst, budget
            ),
            "set quotas",
        )

    def grant(self, role: str, name: str) -> str:
        """Make a login of the PostgreSQL server an analyst, an auditor or an owner here.

        Returns what it is now, in words.
        """
        named = read("analyst", name, called="name")
        self.must_be_there()
        return self._guarded(
            lambda: roles.grant(self._store, role, named), "Nothing was changed.", waits=()
        )

    def revoke(self, name: str) -> None:
        """Take all rights on this ledger from a login of the PostgreSQL server."""
        named = read("analyst", name, called="name")
        self.must_be_there()
        self._guarded(lambda: roles.revoke(self._store, named), "Nothing was changed.", waits=())

    def covering(self, sources: Sequence[str]) -> dict[str, str]:
        """The account that each of the sources belongs to, where there is one."""
        asked = read("sources", sources)
        return self._read(lambda connection: reading.covering(connection, asked), {})

    def covered_from(self, start: str) -> list[tuple[str, str]]:
        """The sources that begin so, each with its account."""
        begins = read("source", start, called="start")
        return self._read(lambda connection: reading.covered_from(connection, begins), [])

    def first_covered(self, sources: Sequence[str]) -> str | None:
        """The one of the sources that was the first to belong to an account."""
        asked = read("sources", sources)
        return self._read(lambda connection: reading.first_covered(connection, asked), None)

    def covered_by(self, account: str) -> list[str]:
        """The sources that belong to an account."""
        name = read("account", account)
        return self._read(lambda connection: reading.covered_by(connection, name), [])

    def account(self, name: str) -> Account:
        """The account of this name as it stands now."""
        account = self.find_account(name)
        if account is None:
            raise NoAccountError(
                f"There is no account {quoted(name)} in the ledger {self.address!r}."
            )
        return account

    def find_account(self, name: str) -> Account | None:
        """The same, or nothing."""
        named = {"name": read("account", name, called="name")}
        row = self._read(lambda c: c.execute(reading.ACCOUNT, named).first(), None)
        return None if row is None else reading.account_from(row)

    def opening(self, name: str) -> Opening:
        """An account that is open, to charge."""
        return Opening(self.account(name))

    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        return self._read(reading.all_accounts, [])

    def quotas(self, account: str) -> list[Quota]:
        """The quotas of an account, by analyst."""
        name = read("account", account)
        return self._read(lambda connection: reading.quotas_of(connection, name), [])

    def window_balances(self, account: str, first: int, last: int) -> list[WindowBalance]:
        """What was spent on the windows from ``first`` to ``last`` that were ever charged."""
        of, begin, end = self._windows_of(account), read("first", first), read("last", last)
        return self._read(lambda c: windows_of.balances(c, account, of, begin, end), [])

    def window_charges(
        self, account: str, first: int | None = None, last: int | None = None
    ) -> list[WindowCharge]:
        """The charges that any window from ``first`` to ``last`` paid, oldest first."""
        self._windows_of(account)
        begin, end = (None if n is None else read("first", n) for n in (first, last))
        return self._read(lambda c: list(windows_of.charges(c, account, begin, end)), [])

    def _windows_of(self, account: str) -> Windows:
        of = self.account(account).windows
        if of is None:
            raise UsageError(
                f"Account {quoted(account)} has one budget for all time and no windows. Nothing "
                "was charged."
            )
        return of

    def quota_words(self, account: Account, spend: Zcdp) -> str | None:
        """What the quota of whoever asks has left, and whether it can pay; nothing without one."""
        found = self.quotas(account.name)
        mine = next((quota for quota in found if quota.analyst == self.analyst), None)
        return quota_left(account, self.analyst, mine, spend) if found else None

    def entries(self, account: str, verb: str | None = None) -> list[Entry]:
        """All charges of an account, or those of one verb, oldest first."""
        name, verb = read("account", account), read("verb", verb)
        return self._read(lambda connection: reading.charges_of(connection, name, verb), [])

    def users_of(self, account: str) -> set[str]:
        """The columns that named the users in the first and the last charges of an account."""
        name, none = read("account", account), set[str]()
        return self._read(lambda connection: reading.users_of(connection, name), none)

    def stored_result(self, sequence: int) -> bytes | None:
        """What the charge of this number released, if it came to that."""
        number = read("sequence", sequence)
        return self._read_to_show(lambda run: pieces.stored(run, number), lambda found: True)

    def stored_part(self, sequence: int, part: int) -> bytes | None:
        """What one round of the charge of this number has shown, if it came to that."""
        number, which = read("sequence", sequence), read("part", part)
        return self._read_to_show(
            lambda run: parts.stored(run, number, which), lambda found: found is not None
        )

    def stored_parts(self, sequence: int) -> list[int]:
        """Which rounds of the charge of this number have shown something."""
        number = read("sequence", sequence)
        return self._read(lambda c: parts.numbers(reading.runs(c), number), [])

    def proof_of(self, sequence: int) -> Proof:
        """What the journal has to show for the charge of this number."""
        number = read("sequence", sequence)
        found = self._read(lambda c: reading.proof_of(c, self._id, number), None)
        if found is None:
            raise UsageError(
                f"Entry {number} of the ledger {self.address!r} is no charge. Nothing was signed "
                "and nothing was charged. See the entries with: headcount ledger show"
            )
        return found

    def signing_key(self) -> SigningKey:
        """The key that receipts are signed with here; the first look makes it."""
        from headcount.ledger.keys import signing_key

        self.must_be_there()
        self._heads.make_folder()
        return signing_key(self._heads.key(self._id))

    def journal(self) -> list[dict[str, Any]]:
        """Every entry of every kind, oldest first, with its hash."""
        return self._read(reading.journal, [])

    def known(
        self,
        account: str,
        request_hash: str,
        *,
        key: str | None = None,
        fresh: bool = False,
        to_show: bool = True,
    ) -> Charge | None:
        """The charge made before under this key or, unless fresh, for this question.

        Of several for the question it is the newest, or the first if a key was given. Whoever only
        asks whether there is one does so without ``to_show``, and waits for no flush.
        """
        question = asking.NO_QUESTION if fresh else request_hash
        names = {"account": account, "key": key or "", "question": question}
        return self._read_to_show(
            lambda run: asking.find(run, names, request_hash),
            lambda charge: to_show and charge is not None and charge.result is not None,
        )

    def key_of(self, account: str, start: str) -> str:
        """The one key in an account that begins so."""
        name, start = read("account", account), read("key", start, called="start")
        none: list[str] = []
        keys = self._read(lambda c: reading.keys_from(c, name, start), none)
        if start in keys:
            return start
        if len(keys) != 1:
            found = "No key begins" if not keys else "More than one key begins"
            raise UsageError(
                f"{found} with {start!r} in account {quoted(account)}. Nothing was charged. See "
                "the keys with: headcount ledger show"
            )
        return keys[0]

    def charge(
        self,
        opening: Opening,
        *,
        key: str,
        request_hash: str,
        verb: str,
        event: Event,
        neighbours: Neighbours,
        about: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> Charge:
        """Charge an event, or find the charge made before: under the same key, or the same request.

        ``opening`` says which account pays, what it is opened with if there is none yet, and which
        sources it covers from then on. With ``fresh`` only the key is looked for.

        The cost comes from the event's parameters and nothing else, so that neither it nor a
        refusal can depend on data. ``about`` is kept for people: public words on what was asked.
        """
        name = storable(opening.account.name, "The account's name")
        covered = self._covered.setdefault(name, set())
        new = tuple(source for source in opening.covers if source not in covered)
        for source in new:
            storable(source, "A source")
        windows = event if isinstance(event, Windowed) else None
        of = event if windows is None else windows.event
        times = 1 if windows is None else windows.times
        spend = cost_in_account(cost(of), neighbours, opening.account.neighbours)
        # Rounded up for a window first, so that each pays the same whole number of units.
        rho, delta = (times * units for units in units_up(spend))
        if not (rho or delta):
            raise LedgerError("An event that costs nothing is not charged. Nothing was charged.")
        if windows is not None and max(rho, delta) >= LARGEST:
            raise LedgerError("This is more than any ledger counts to. Nothing was charged.")
        ask = asking.Ask(
            opening=replace(opening, covers=new),
            analyst=self.analyst,
            key=read("key", key),
            fresh=fresh,
            request_hash=request_hash,
            verb=verb,
            about=about or {},
            event=to_record(event),
            neighbours=neighbours.value,
            spend=Zcdp(times * spend.rho, times * spend.delta),
            rho=min(rho, LARGEST),
            delta=delta,
            windows=windows,
        )
        charge = self._write(lambda writer: charging.charge(writer, self._id, ask))
        if charge.is_new:
            covered.update(new)
        return charge

    def store_result(self, sequence: int, payload: bytes) -> bytes:
        """Keep what a charge is about to release, and return what may be shown.

        If another process stored a result for the same charge first, that one is returned: a
        second draw of noise for one charge must never leave.
        """
        return self._write(
            lambda writer: charging.store_result(writer, self._id, self.analyst, sequence, payload),
            happened=LOST_WITH_IT,
        )

    def store_part(self, sequence: int, part: int, payload: bytes) -> bytes:
        """Keep what one round is about to show, and return what may be shown.

        One charge pays for ``n_samples`` rounds, 0 to ``n_samples - 1``. If another process stored
        this part first, that one is returned: a second count of one round must never leave.
        """
        number, which = read("sequence", sequence), read("part", part)
        parts.check_size(payload)
        return self._write(
            lambda writer: charging.store_part(
                writer, self._id, self.analyst, number, which, payload
            ),
            happened=LOST_WITH_IT,
        )

    def verify(self) -> History:
        """Check everything again: the journal, the accounts, the results, and the head outside."""
        self.must_be_there()
        return self._guarded(lambda: self._check(full=True), "It cannot be read to its end.")

    def __repr__(self) -> str:
        return f"Ledger({self.address!r})"
