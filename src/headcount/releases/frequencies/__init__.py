"""Frequencies: how many groups have each count of users."""
