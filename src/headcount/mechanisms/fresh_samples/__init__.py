"""Counts of fresh samples of users: the mechanism, how its looks are read, and its proof."""
