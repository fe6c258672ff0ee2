"""Answers counted across devices, which leave none of them unprotected. A beginning.

- ``task_file``, ``yaml_file``, ``characters``: what an owner writes, and what is refused.
- ``task``, ``canonical``: a task with its terms, and the hash that names it.
- ``plan``: the terms, from what an account may spend.
- ``wire``, ``seal``: bytes of rounds and reports; reports sealed for one round.
- ``answering``: what one device sends in one round.
- ``core``: sealed reports in, counts from the threshold on out.
- ``store``, ``migrate``, ``intake``: tasks, rounds and sealed posts on PostgreSQL.
- ``door``, ``lease``, ``released``: charge, open, count, store, release; each step in one place.
- ``keybox``, ``sandbox``, ``frames``, ``core_process``, ``core_client``: the core in a process of
  its own, with the keys.
"""
