"""The tables in a device's folder, and what their rows are to the device."""

from __future__ import annotations

from dataclasses import dataclass

from headcount.privacy.spend import Zcdp

SCHEMA = """
CREATE TABLE IF NOT EXISTS consent (purpose TEXT PRIMARY KEY, since INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS heard (
    task BLOB PRIMARY KEY, spelled BLOB NOT NULL, said TEXT NOT NULL, at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS paid (
    task BLOB PRIMARY KEY, spelled BLOB NOT NULL, secret BLOB NOT NULL, rho TEXT NOT NULL,
    delta TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS allowed (
    owner TEXT PRIMARY KEY, n INTEGER NOT NULL, head BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS answered (
    task BLOB NOT NULL, round INTEGER NOT NULL, descriptor BLOB NOT NULL, sealed BLOB NOT NULL,
    n_reports INTEGER NOT NULL, n_taken INTEGER NOT NULL, state TEXT NOT NULL,
    at INTEGER NOT NULL, PRIMARY KEY (task, round));
"""
FORGET = """
BEGIN IMMEDIATE;
DELETE FROM consent;
DELETE FROM heard;
UPDATE paid SET spelled = x'', secret = x'';
UPDATE answered SET descriptor = x'', sealed = x'', n_reports = 0, n_taken = 0, state = 'forgotten';
COMMIT;
"""
OF_ROUND = "WHERE task = ? AND round = ?"
KEPT = "SELECT task, round, descriptor, sealed, n_reports, n_taken, state, at FROM answered "


@dataclass(frozen=True, slots=True)
class Kept:
    """What a device sealed for one round: the reports end to end, and how many were taken."""

    task: bytes
    round: int
    descriptor: bytes
    sealed: bytes
    n_reports: int
    n_taken: int
    state: str
    at: int

    def waiting(self) -> list[bytes]:
        """The reports that were not taken yet, byte for byte as they were sealed."""
        size = len(self.sealed) // max(1, self.n_reports)
        starts = range(self.n_taken * size, len(self.sealed), max(1, size))
        return [self.sealed[start : start + size] for start in starts]


@dataclass(frozen=True, slots=True)
class Paid:
    """What a task costs the device, and when it was answered first and last."""

    task: bytes
    spelled: bytes
    spend: Zcdp
    first: int
    last: int
