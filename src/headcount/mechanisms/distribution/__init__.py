"""Shares of a whole, from users with many samples each: the mechanism, its stages, its proof."""
