"""The outsider who doubts every privacy claim; it knows none of the maths it audits.

- ``neighbours``: the pairs of tables that every mechanism is tried on.
- ``exact``: the law of a sampler, read off the sampler itself, word by word.
- ``divergence``: how far two such laws are apart.
- ``greybox``: what reaches the noise, compared with what was declared.
- ``blackbox``: many outputs, and a bound on epsilon or delta that holds with confidence.
- ``verdict``: what was claimed, what was found.

A finding can refute a claim. Nothing in here can prove one.
"""
