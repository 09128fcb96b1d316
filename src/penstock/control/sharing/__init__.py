"""Sharing: which query runs as part of which shared query, decided by a state machine without I/O.

`machine` takes `events` and returns `commands`, as control does; `records` are what it knows, one for each
query and one for each host. It is told digests of plans, never plans. Start with `records`, whose phases are
the whole story of a query.

The engine does not obey it yet: `engines.spark.sharing` still decides by itself (ADR 13).
"""
