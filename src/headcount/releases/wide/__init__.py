"""Releases into files: drawn beside the data or as it streams by, stored by their digests."""
