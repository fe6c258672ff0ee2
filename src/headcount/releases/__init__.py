"""Releases: a plan first, then the one door, then a result that may be published."""
