"""Exact noise from the operating system's entropy, drawn by the array.

- ``entropy``: where random words come from.
- ``discrete_laplace``, ``discrete_gaussian``: noise on the integers.
- ``selection``: the exponential mechanism.
- ``saturation``: adding noise to counts without wrapping around.

``weights``, ``table`` and ``uniform`` are how the laws above are drawn exactly; the argument is in
``noise.md`` beside them, and ``[N1]``, ``[N2]``, ... in the code name its steps.
"""
