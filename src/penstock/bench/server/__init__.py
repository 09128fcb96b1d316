"""What a server costs beside the same engine in a program: rows pushed, and how late their events come.

`workload` has rows and queries, `pacing` when each client pushes, `taken` what subscribers got; `worker` are
processes that are told what to do: `load` has the clients of a server (`connection` is what they speak),
`inside` is a program with an engine. `sides` starts them, `measuring` takes turns, `report` says what it came
to. Load comes from a process of its own, except in a program, where pushing and reading are part of it.
"""
