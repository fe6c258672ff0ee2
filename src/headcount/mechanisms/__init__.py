"""Mechanisms: numbers in, noisy numbers out. One module and one proof of the same name each."""
