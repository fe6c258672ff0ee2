"""A plan: what a release would do and cost, before anything is read or spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

from headcount.accounting.compose import cost, cost_in_account
from headcount.accounting.convert import epsilon_at, shown
from headcount.errors import BudgetError, HeadcountError, KeyReusedError, UsageError
from headcount.ledger.account import Account, Charge, Opening, refusal
from headcount.ledger.statement.bar import ADDING_UP
from headcount.privacy.event import Windowed
from headcount.privacy.spend import Zcdp
from headcount.releases.arguments import checked_release
from headcount.releases.expected import Expected, Expects, expected, swept
from headcount.releases.face import Lines, gist, share_words
from headcount.releases.owned import Owned, not_pickled
from headcount.releases.request import ALWAYS_ASKED
from headcount.releases.run import SYSTEM_ENTROPY, Entropy, Work, run
from headcount.releases.stages import Progress
from headcount.releases.wide.wide import NOT_WIDE, To
from headcount.releases.windows import check_windows_pay, of_one_window, scarcest
from headcount.screens import as_word, visible

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger
    from headcount.privacy.during import During
    from headcount.results.release import Release
    from headcount.results.wide import WideRelease


SO_FAR = ("so far", "nothing was read and nothing was charged")
PAID = "nothing: it was charged before"


@dataclass(frozen=True, slots=True)
class Now:
    """What the ledger has at this moment: the charge for a question, and the account.

    account:  nothing where a release opens it
    """

    known: Charge | None
    account: Account | None
    quota: str | None


def _silent(_stage: str) -> None:
    """The default progress: none."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be released, at what cost. Print it; then ``release()`` it.

    ``explain()`` says all of it: the method, the bound, the noise, and the rules for odd cells.

    The same question has one answer: releasing it again, from this plan or another, in this process
    or another, shows the same rows and charges nothing.
    """

    work: Work
    """What the release would do; for the library itself."""
    ledger: Ledger
    """The ledger that would pay."""
    opening: Opening
    """The account that would pay, and the budget that opens it if it is new."""
    title: str
    """The question, in a few words."""
    method: str
    """How it would be answered, in a few words."""
    details: Lines
    """The lines of ``explain()``, by name."""
    known: Charge | None = None
    """The entry that was charged for this question before, if one was."""
    expects: Expects = tuple
    """What to expect of the rows, from public facts and earlier releases."""
    at: Callable[[Any], Plan] | None = None
    """The same question at another spend."""
    _owned: Owned = field(default_factory=Owned, repr=False)
    _entropy: Entropy = field(default=SYSTEM_ENTROPY, repr=False)
    """The system's; an auditor's own for the plans that it releases."""

    def __reduce__(self) -> NoReturn:
        raise not_pickled("Plan")

    def stating(self, given: tuple[tuple[str, Any], ...]) -> Plan:
        """The same plan, with what its asker wrote for whoever reads the release."""
        written = tuple(one for one in given if one[0] not in ALWAYS_ASKED)
        request = replace(self.work.request, given=written)
        return replace(self, work=replace(self.work, request=request))

    @property
    def account(self) -> Account:
        """The account as it was when this was planned, or as this would open it.

        Where it has windows it is that of the scarcest that pay: the limit is that of one.
        """
        return self.work.account

    @property
    def during(self) -> During | None:
        """The windows that pay, where the account has a budget for each."""
        return self.work.table.windows

    @property
    def spend(self) -> Zcdp:
        """What the account will be charged, or each of the windows."""
        stated, account = self.work.neighbours, self.account.neighbours
        return cost_in_account(cost(of_one_window(self.work.event)), stated, account)

    @property
    def whole_spend(self) -> Zcdp:
        """What somebody pays who is in all that this is about: the account's own charge."""
        event = self.work.event
        times = event.times if isinstance(event, Windowed) else 1
        return Zcdp(times * self.spend.rho, times * self.spend.delta)

    @property
    def epsilon(self) -> Fraction:
        """The release's own epsilon at the account's delta."""
        return epsilon_at(self.spend.rho, self.account.noise_delta)

    @overload
    def release(
        self,
        *,
        fresh: bool = False,
        key: str | None = None,
        again: str | None = None,
        progress: Progress = _silent,
        to: None = None,
        files: None = None,
    ) -> Release: ...
    @overload
    def release(
        self,
        *,
        fresh: bool = False,
        key: str | None = None,
        again: str | None = None,
        progress: Progress = _silent,
        to: str | Path,
        files: int | None = None,
    ) -> WideRelease: ...
    def release(
        self,
        *,
        fresh: bool = False,
        key: str | None = None,
        again: str | None = None,
        progress: Progress = _silent,
        to: str | Path | None = None,
        files: int | None = None,
    ) -> Release | WideRelease:
        """Charge the ledger, read the table, draw the noise, and return what may be published.

        fresh:  draw new rows and charge again, although the same question was answered before
        key:    a name of your own for this release: a job that repeats it never charges twice and
                is shown the same rows. It is not used up, and the release says so, where the
                question was answered before: then the first answer is shown, under its own key
        again:  show what was released under a key, given whole or by its first letters; an
                unknown one is refused
        to:     write the rows to Parquet files in this folder, and return the list of them: for
                more groups than fit in memory. The folder is empty, or not there yet
        files:  on Spark, into how many files; 16 when not given
        """
        self._owned.check("Plan")
        said = checked_release(
            fresh=fresh, key=key, again=again, progress=progress, to=to, files=files
        )
        if said["to"] is not None:
            self.check_wide()
        key = self.key_shown(said["again"]) if said["again"] is not None else said["key"]
        return run(
            self.work,
            self.ledger,
            self.opening,
            key=key,
            fresh=fresh,
            progress=progress,
            entropy=self._entropy,
            to=None if said["to"] is None else To(said["to"], said["files"]),
        )

    def check_wide(self) -> None:
        """Refuse a question whose rows are not drawn each by itself."""
        if self.work.wide is None:
            raise UsageError(NOT_WIDE)

    def expected(self, budgets: Sequence[Any] | None = None) -> Expected:
        """The error and the number of rows to expect, from public facts and earlier releases.

        Nothing is read and nothing is charged. Print it, draw it with ``plot()``, or take
        ``to_arrow()``.

        budgets:  other spends to put side by side: epsilons, budgets, or shares such as ``"1/10"``.
                  Without it, the spend of this plan
        """
        self._owned.check("Plan")
        return expected(self, self.at, budgets)

    def sweep(self) -> Expected:
        """The same for a range of epsilons, up to what is left in the account."""
        return self.expected(swept(self) or None)

    def key_shown(self, start: str) -> str:
        """The key that begins so, if it answered this question."""
        key = self.ledger.key_of(self.account.name, start)
        try:
            self.charged(key=key, fresh=True)
        except KeyReusedError:
            entry = next(one for one in self.ledger.entries(self.account.name) if one.key == key)
            raise KeyReusedError(
                f"The key {key!r} answered another question: {entry.title}, entry "
                f"{entry.sequence} of account {self.account.name!r}. Nothing was charged. Show "
                f"what it released: headcount ledger result {as_word(key)}"
            ) from None
        return key

    def charged(self, *, key: str | None = None, fresh: bool = False) -> Charge | None:
        """The charge that a release would find now instead of making one."""
        self._owned.check("Plan")
        return self.ledger.known(
            self.account.name, self.work.request.hash, key=key, fresh=fresh, to_show=False
        )

    def described(
        self, *, key: str | None = None, fresh: bool = False, word: str = "fresh=True"
    ) -> str:
        """The plan as it would be released with this key, or fresh; ``word``: how that is said."""
        now = self._affordable(key=key, fresh=fresh)
        return self._text(now.known, self._account_words(now, word, fresh=fresh))

    def shortly(self, more: str, *, key: str | None, fresh: bool, word: str) -> str:
        """The short face of the same; ``more``: how the rest is seen."""
        now = self._affordable(key=key, fresh=fresh)
        words = self._account_words(now, word, fresh=fresh)
        return self._face(now.known, now.account or self.account, words, more)

    def record(self, *, key: str | None, fresh: bool, word: str) -> dict[str, Any]:
        """The same for other programs: what it would cost, and every line by its name."""
        now = self._affordable(key=key, fresh=fresh)
        words = self._account_words(now, word, fresh=fresh)
        return {
            "plan": self.title,
            "verb": self.work.request.verb,
            "method": self.method,
            "asked": self.work.request.asked(),
            "account": self.account.name,
            "cost": {
                "epsilon": shown(self.epsilon),
                "delta": str(float(self.account.stated_delta)),
                "rho": str(self.spend.rho),
                "threshold_delta": str(self.spend.delta),
            },
            "answered_by": None if now.known is None else now.known.sequence,
            "lines": dict((*self.details, *words)),
        }

    def _affordable(self, *, key: str | None, fresh: bool) -> Now:
        """What the ledger has now, or a refusal where the account cannot pay."""
        now = self._now(key=key, fresh=fresh)
        account = now.account or self.account
        if now.known is not None:
            return now
        if self.during is not None:
            whole = self.ledger.find_account(account.name) or self.work.whole
            check_windows_pay(self.ledger, whole, self.during, self.spend, self.work.event)
        elif not self.spend <= account.left:
            raise BudgetError(refusal(account, self.spend))
        return now

    def _now(self, *, key: str | None = None, fresh: bool = False) -> Now:
        """Ask the ledger: others use the account, and a release may have failed after its charge.

        What was true when this was planned is not said as if it were still.
        """
        known = self.charged(key=key, fresh=fresh)
        whole = self.ledger.find_account(self.account.name)
        if whole is None:
            return Now(known, None, None)
        pays = whole if self.during is None else scarcest(self.ledger, whole, self.during)
        words = None if known is not None else self.ledger.quota_words(whole, self.whole_spend)
        return Now(known, pays, words)

    def _left_after(self, account: Account) -> str:
        after = replace(account, spent=account.spent + self.spend)
        of = "" if self.during is None else f", of each {self.during.window.unit}"
        return f"epsilon {after.shown_left} of {shown(after.epsilon_limit)}{of}"

    def _account_words(self, now: Now, word: str, *, fresh: bool) -> Lines:
        known, account = now.known, now.account or self.account
        can_pay = self.spend <= account.left
        if known is not None and known.result is not None:
            more = f"{word} charges again" if can_pay else f"the account cannot pay for {word}"
            return (("answered", f"by {known.named}: shown again, free; {more}"),)
        if known is not None:
            return (("charged", f"{known.named} has no rows yet: finished without a charge"),)
        if not can_pay:
            left = f"epsilon {account.shown_left}, less than this costs: it would be refused"
            return (("left", left), SO_FAR)
        lines: Lines = (
            ("left after", self._left_after(account)),
            ("share", f"{share_words(account, self.spend, self._of)}. {ADDING_UP}"),
        )
        if now.quota is not None:
            lines = (*lines, ("quota", now.quota))
        if now.account is None and self.opening.budget is not None:
            lines = (*lines, ("account", "new: the release opens it, with this budget"))
        elif fresh and self.known is not None:
            lines = ((word, "new rows are drawn, and charged again"), *lines)
        return (*lines, SO_FAR)

    def _at_this_moment(self) -> tuple[Charge | None, Account | None, Lines]:
        """The charge for this question, the account, and the words for them."""
        try:
            now = self._now()
        except HeadcountError as error:
            why = f"not known, since the ledger cannot be asked now: {error}"
            return None, None, (("so far", why),)
        words = self._account_words(now, "fresh=True", fresh=False)
        return now.known, now.account or self.account, words

    def __repr__(self) -> str:
        return f"<Plan {visible(self.title)}: {self.method}, epsilon {shown(self.epsilon)}>"

    def __str__(self) -> str:
        """The short face: what you will get, how good, and what it takes of the budget."""
        return self._face(*self._at_this_moment(), "print(plan.explain())")

    def _face(self, known: Charge | None, account: Account | None, now: Lines, more: str) -> str:
        cost = f"epsilon {shown(self.epsilon)}"
        if account is not None:
            cost = f"{cost}: {share_words(account, self.spend, self._of)}"
        return self._laid_out(
            self._protects,
            *gist(self.details),
            ("cost", cost if known is None else PAID),
            *(line for line in now if line[0] not in ("left after", "share")),
            ("more", more),
        )

    def explain(self) -> str:
        """All that there is to say: the method, the bound, the noise, the rules, the cost."""
        known, _, now = self._at_this_moment()
        return self._text(known, now)

    def _text(self, known: Charge | None, account_words: Lines) -> str:
        cost = (
            f"epsilon {shown(self.epsilon)} at delta "
            f"{float(self.account.stated_delta):.3g}, from account {self.account.name!r}"
        )
        return self._laid_out(
            self._protects,
            ("method", self.method),
            *self.details,
            ("cost", cost if known is None else f"{PAID}, with {cost}"),
            *account_words,
        )

    @property
    def _of(self) -> str:
        """Of what a spend is a share."""
        return "the budget" if self.during is None else f"each {self.during.window.unit}'s budget"

    @property
    def _protects(self) -> tuple[str, str]:
        rows = f"all rows with one value of {self.work.table.user!r}"
        if self.during is None:
            return ("protects", f"each user: {rows}")
        window = self.during.window
        return ("protects", f"each user within one {window.unit}{window.clock}: {rows} in it")

    def _laid_out(self, *lines: tuple[str, str]) -> str:
        width = max(len(name) for name, _ in lines)
        return "\n".join(
            [
                visible(f"Plan: {self.title}"),
                *(f"  {name:<{width}}  {visible(text)}" for name, text in lines),
            ]
        )
