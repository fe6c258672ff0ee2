"""Releases that repeat: a file says which, the calendar when, the ledger what was done."""
