"""Where a ledger is kept: how each database writes its journal, reads it and locks it."""
