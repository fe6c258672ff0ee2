"""Free repairs of noisy numbers: functions of what was already released, so they cost nothing.

- ``simplex``: the nearest shares that are not negative and add up to one.
- ``shrink``: noisy values near zero, drawn to what values there are likely to be.
"""
