"""How everything stands: a snapshot between two events, worked out in the thread that asked.

`snapshot` looks, `query_states` says what each query is doing, `status` is what people get, `status_text`
how it prints; `answers` and `explaining` fill in SHOW and EXPLAIN. May import all rooms.
"""
