"""Counters that are safe even if stolen: noise first, events after.

- ``stream``: the object people use.
- ``terms``: what is public about a stream, as the header of its file.
- ``arguments``: what may be said to a stream, in one table.
- ``file``, ``drafts``: the file format, and how a file is put in its place in one step.
- ``places``, ``copies``: the counters in memory, their file, and copies of it.
- ``values``, ``hashing``: from values to bytes, and from bytes to counters, by the array.
- ``lines``, ``json_lines``: reading lines or JSON from a pipe.
- ``output``: what a finished stream publishes.
- ``promise``: what is promised and what is not, in words.
"""
