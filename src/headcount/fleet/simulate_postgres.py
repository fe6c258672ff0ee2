"""A PostgreSQL server of a simulation's own, which is gone when it ends.

It flushes to disk as any other, listens on this machine alone, and lets nobody in without a
password that was made for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from headcount.errors import UsageError

OWNER = "postgres"
USUAL = Path("/usr/lib/postgresql")
NEEDED = ("initdb", "pg_ctl", "psql")
SECONDS = 300


def programs() -> Path:
    """The folder of the newest server that is installed here."""
    found = [one.parent for one in USUAL.glob("*/bin/postgres")]
    found.sort(key=lambda one: int(one.parent.name) if one.parent.name.isdigit() else 0)
    on_path = shutil.which("postgres")
    places = [*reversed(found), *([Path(on_path).resolve().parent] if on_path else [])]
    for one in places:
        if all((one / name).exists() for name in NEEDED):
            return one
    raise UsageError(
        "A simulation starts a PostgreSQL server of its own, and none is installed here. Install "
        "one: apt-get install postgresql. Nothing was started."
    )


class Cluster:
    """A server in a folder of its own, run as ``postgres`` where this process is root's.

    password: that of all its logins
    """

    def __init__(self, port: int, password: str) -> None:
        self._programs, self._port, self._password = programs(), port, password
        # The server takes no orders of root.
        self._is_root = os.geteuid() == 0
        self._folder: Path | None = None

    def __enter__(self) -> Cluster:
        self._folder = folder = Path(tempfile.mkdtemp(prefix="hc-simulate-"))
        try:
            self._make(folder)
        except BaseException:
            self._end(folder)
            raise
        return self

    def _make(self, folder: Path) -> None:
        given = folder / "password"
        given.touch(mode=0o600)
        given.write_text(self._password)
        if self._is_root:
            for one in (folder, given):
                shutil.chown(one, OWNER)
        self._run("initdb", "-D", f"{folder}/data", "-A", "scram-sha-256", f"--pwfile={given}",
                  "-U", OWNER, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        given.unlink()
        options = f"-p {self._port} -k {folder} -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "-D", f"{folder}/data", "-w", "-o", options, "-l", f"{folder}/log",
                  "start")  # fmt: skip

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            self._end(self._folder)

    def _end(self, folder: Path) -> None:
        if (folder / "data" / "postmaster.pid").exists():
            self._run("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)

    def let_in(self, logins: Mapping[str, str]) -> None:
        """Make logins, by the name of each; of no rights so far."""
        made = "".join(
            f"CREATE ROLE {name} LOGIN PASSWORD '{self._password}';\n" for name in logins.values()
        )
        # Not as a word of the command, which everybody on a machine can read.
        self._run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p",
                  str(self._port), "-U", OWNER, "-d", OWNER, said=made,
                  PGPASSWORD=self._password)  # fmt: skip

    def address(self, login: str = OWNER, *, whole: bool = False) -> str:
        """Where a login finds the database.

        whole: with the password, for what is in no list of processes
        """
        password = f":{self._password}" if whole else ""
        return f"postgresql://{login}{password}@127.0.0.1:{self._port}/{OWNER}"

    @property
    def process(self) -> int:
        """The id of the server's first process."""
        found = Path(f"{self._folder}/data/postmaster.pid").read_text("ascii")
        return int(found.split()[0])

    def _run(
        self, program: str, *words: str, said: str = "", check: bool = True, **more: str
    ) -> None:
        from headcount.fleet.settings import with_settings

        as_server = ["runuser", "-u", OWNER, "--"] if self._is_root else []
        ended = subprocess.run(  # noqa: S603  the server's own programs
            [*as_server, str(self._programs / program), *words],
            cwd=self._folder,
            env=with_settings(**more),
            input=said.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
        if check and ended.returncode:
            raise UsageError(
                f"The server's own {program} failed, so that there is no PostgreSQL to simulate "
                "with. Try it as another user, or with more room on the disk. Nothing was charged."
            )
