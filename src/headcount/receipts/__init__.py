"""Receipts: what a release was, cost and was paid from, signed, for whoever was not there."""
