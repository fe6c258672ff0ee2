"""Ctrl-C while a server runs a query ends the query, and is what the caller sees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psycopg
import pytest

CHILD = """
import sys
import pyarrow as pa
from headcount.tables import open_table

engine = open_table(sys.argv[1], user="who").engine
engine._compiled = lambda _: "select 1::bigint as who, pg_sleep(600)::text as slept"
schema = pa.schema([("who", pa.int64()), ("slept", pa.string())])
try:
    with engine.session():
        list(engine.stream(None, schema)) if sys.argv[2] == "stream" else engine.keep(None, "k")
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
RUNNING = (
    "select count(*) from pg_stat_activity where query like '%pg_sleep(%' and state = 'active' "
    "and pid <> pg_backend_pid()"
)


@pytest.mark.postgres
@pytest.mark.parametrize("way", ["keep", "stream"])
def test_of_postgres(way: str, postgres_address: str) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("create table if not exists stopped (who bigint)")
        connection.execute("insert into stopped values (1)")
        address = f"{postgres_address}?table=stopped"
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD, address, way], stdout=subprocess.PIPE, text=True
        )

        def n_running() -> int:
            row = connection.execute(RUNNING).fetchone()
            return int(row[0]) if row else 0

        # However long a busy machine takes to get there, and less long than the query takes then.
        while not n_running() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=500)
        assert said.split() == ["interrupted"], said
        assert n_running() == 0
