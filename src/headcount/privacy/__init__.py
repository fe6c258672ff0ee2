"""The words: who is protected, against what, how much one user may give, and what it costs.

No data and no noise in here; every other folder speaks in these types.
"""
