"""Free repairs of noisy numbers: functions of what was already released, so they cost nothing.

- ``debias``: counts of rows from counts of bounded rows, where users are alike.
"""
