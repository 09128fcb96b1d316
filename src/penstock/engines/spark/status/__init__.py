"""How everything stands: a snapshot between two events, worked out in the thread that asked.

`snapshot` looks, `query_states` says what each query is doing, `running` what control runs for it, `judging`
whether it gets what it asked for; `status` is what people get, `status_text` how it prints; `answers` and
`explaining` fill in SHOW and EXPLAIN. May import all rooms.
"""
