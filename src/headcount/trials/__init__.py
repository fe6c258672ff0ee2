"""Every mechanism brought before the auditor, beside broken variants that it must flag.

One module per mechanism holds the mechanism as shipped and its mutants: copies broken by the
smallest edit that breaks privacy. ``register`` lists them, ``session`` runs them.
"""
