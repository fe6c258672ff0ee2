"""Counts of groups, all to the same relative error: the mechanism, its stages, and its proof."""
