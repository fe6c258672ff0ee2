"""The ledger's schema, one step per version. A ledger is brought up to date when it is opened."""
