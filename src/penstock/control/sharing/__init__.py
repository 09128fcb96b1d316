"""Sharing: which query runs as part of which shared query, decided by a state machine without I/O.

`machine` takes `events` and returns `commands`, as control does. `records` are what it knows, one for each
query and one for each host; `book` keeps them, `moves` changes them. It is told digests of plans, never
plans. Start with `records`, whose phases are the whole story of a query.
"""
