"""Examples of every command, as its ``--help`` and the reference show them.

They run as a test, from top to bottom in one empty folder: each may use what earlier ones made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import typer

FIRST = "--user user_id --by page --epsilon 1 --budget 3"
"""The first question of README, which ``headcount demo`` suggests too."""
FIRST_COUNT = f"headcount count-users events.parquet {FIRST} --out pages.parquet"
_ROWS = "events.parquet --user user_id"
_SQL = "SELECT page, COUNT(DISTINCT user_id) FROM events GROUP BY page ORDER BY 2 DESC LIMIT 10"
_ANSWERS = r"user_id\nusers by page\npublic\nall\nonce\n"

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("headcount demo", "headcount demo small.parquet --users 1000"),
    "start": (f"printf '{_ANSWERS}' | headcount start events.parquet",),
    "count-users": (
        FIRST_COUNT,
        f"headcount count-users {_ROWS} --by time:month --spend 1/20 --json",
        f"headcount count-users {_ROWS} --by page --within 0.10 --spend 1/10 --plan",
    ),
    "count-events": (
        f"headcount count-events {_ROWS} --by page --spend 1/10 --report events.html",
    ),
    "distribution": (f"headcount distribution {_ROWS} --by page --spend 1/20 --csv",),
    "frequencies": (f"headcount frequencies {_ROWS} --by page --spend 1/20 --plot curve.svg",),
    "profile": (f"headcount profile {_ROWS} --by page --spend 1/20",),
    "quantiles": (
        f"headcount quantiles {_ROWS} --at 0.5 --at 0.9 --low 0 --high 1000 --spend 1/20",
    ),
    "count-ranges": (
        f"headcount count-ranges {_ROWS} --range :5 --range 5:20 --range 20: --spend 1/20",
    ),
    "sql": (f'headcount sql events.parquet "{_SQL}" --user user_id --spend 1/20',),
    "doctor": ("headcount doctor",),
    "audit": ("headcount audit --mechanism gaussian",),
    "receipt": ("headcount receipt --out receipt.json",),
    "verify": ("headcount verify receipt.json",),
    "run": (
        "headcount run releases.yaml --dry-run",
        "headcount run releases.yaml --until 2026-01-02",
    ),
    "ledger open": (
        "headcount ledger open clicks --budget 3 --quota ann=0.5",
        "headcount ledger open app-users --budget 3 --neighbours replace --covers fleet:phones",
    ),
    "ledger show": ("headcount ledger show",),
    "ledger result": (
        "headcount ledger result --plot pages.svg --report pages.html",
        "headcount ledger result 5 --out pages.csv",
    ),
    "ledger statement": ("headcount ledger statement events.parquet --out statement.html",),
    "ledger registry": ("headcount ledger registry events.parquet --out record.yaml",),
    "ledger grant": ("headcount ledger grant analyst ann",),
    "ledger revoke": ("headcount ledger revoke ann",),
    "ledger verify": ("headcount ledger verify",),
    "ledger key": ("headcount ledger key",),
    "ledger export": ("headcount ledger export --out journal.jsonl",),
    "stream new": (
        "headcount stream new words.hcs --buckets 1000 --epsilon 1",
        "headcount stream new other.hcs --like words.hcs",
    ),
    "stream add": ("echo hello | headcount stream add words.hcs",),
    "stream describe": ("headcount stream describe words.hcs",),
    "stream snapshot": ("headcount stream snapshot words.hcs copy.hcs",),
    "stream reseal": ("headcount stream reseal words.hcs",),
    "stream merge": ("headcount stream merge words.hcs other.hcs",),
    "stream finish": ("headcount stream finish words.hcs --out words.csv",),
    "fleet plan": ("headcount fleet plan task.yaml",),
    "fleet apply": ("headcount fleet apply task.yaml",),
    "fleet rounds": ("headcount fleet rounds top_app",),
    "fleet release": ("headcount fleet release top_app 0 --out apps.csv --plot apps.svg",),
    "fleet simulate": ("headcount fleet simulate task.yaml --devices 5000 --plot apps.svg",),
    "fleet serve ingest": ("headcount fleet serve ingest --port 8401",),
    "fleet serve control": ("headcount fleet serve control --port 8080",),
    "fleet relay": ("headcount fleet relay http://127.0.0.1:8401 --devices devices --port 8402",),
    "fleet core": ("headcount fleet core --keys keys --socket core.socket",),
    "fleet aggregate": ("headcount fleet aggregate --core core.socket --key owner.key",),
    "fleet prepare": ("headcount fleet prepare --grant driver=hc_driver",),
    "fleet key": ("headcount fleet key owner.key",),
    "fleet token make": ("headcount fleet token make analyst 'Ada, weekly report'",),
    "fleet token revoke": ("headcount fleet token revoke 0123456789abcdef",),
    "fleet allow": (f"headcount fleet allow {'ab' * 48} --version 1.2",),
    "fleet withdraw": (f"headcount fleet withdraw {'ab' * 48}",),
    "fleet allowed": ("headcount fleet allowed --key owner.key",),
    "fleet senders": ("headcount fleet senders devices phone-1 phone-2",),
}


def show_examples(app: typer.Typer, within: str = "") -> None:
    """Put its examples under the help of each command."""
    for command in app.registered_commands:
        path = f"{within}{command.name or getattr(command.callback, '__name__', '')}"
        command.epilog = "\n\n".join(_lines(EXAMPLES.get(path, ())))
    for group in app.registered_groups:
        if group.typer_instance is not None:
            show_examples(group.typer_instance, f"{within}{group.name} ")


def _lines(examples: tuple[str, ...]) -> Iterator[str]:
    if examples:
        yield "Example:" if len(examples) == 1 else "Examples:"
    yield from (f"  {example}" for example in examples)
