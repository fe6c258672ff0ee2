"""The ledger: a budget that is charged before data is read, and survives the process."""
