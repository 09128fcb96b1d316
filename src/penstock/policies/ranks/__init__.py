"""Ranks: how ready units are ordered, one way per file.

A rank gives a unit a priority, and may choose its quantum and let the priority expire. It declares what it
reads (`reads`), so that control re-ranks a unit only when that changed. `base` has the protocol. Start with
`path_capacity`, then `freshness`.
"""
