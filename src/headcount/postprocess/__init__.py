"""Free repairs of noisy numbers: functions of what was already released, so they cost nothing.

- ``debias``: counts of rows from counts of bounded rows, where users are alike.
- ``isotonic``: the nearest falling sequence, in the l1 norm on the integers.
- ``unbiased``: how many true counts are at least r, from counts with discrete Laplace noise.
- ``npmle``: the most likely distribution of true counts, given the noisy ones.
- ``hash_inverse``: from loads of hash buckets back to counts of groups.
- ``pooled``: the nearest falling sequence in the l2 norm, chunk by chunk.
- ``frequencies``: the result, its properties and their errors.
- ``anonymized``: all of it together.
- ``simplex``: the nearest shares that are not negative and add up to one.
- ``shrink``: noisy values near zero, drawn to what values there are likely to be.
"""
