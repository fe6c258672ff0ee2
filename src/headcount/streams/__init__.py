"""Counters that are safe to seize: noise first, events after.

- ``stream``: the object people use.
- ``terms``: what is public about a stream, as the header of its file.
- ``file``: the file format, and how a file is replaced in one step.
- ``places``: the one copy of the counters, in memory or mapped from the file.
- ``values``, ``hashing``: from values to bytes, and from bytes to counters, by the array.
- ``lines``, ``json_lines``: reading lines or JSON from a pipe.
- ``output``: what a finished stream publishes.
- ``promise``: what is promised and what is not, in words.
"""
