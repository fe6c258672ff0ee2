"""Sums of spends: what an event costs, what costs add up to, and how people are told."""
