"""Counters that are safe to seize: noise first, events after.

- ``stream``: the object people use.
- ``terms``: what is public about a stream, as the header of its file.
- ``file``: the file format, atomic replacement, mapped counters.
- ``hashing``: from values to counters, by the array.
- ``lines``: reading lines or JSON from a pipe.
- ``output``: what a finished stream publishes.
- ``promise``: what is promised and what is not, in words.
"""
