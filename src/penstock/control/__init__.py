"""The state machine between events and commands.

`machine.Control` takes an event and returns commands. It does no I/O and has no clock, no threads and no
randomness of its own, so the simulator and Spark run the very same decisions, and a run can be replayed
from its log. `events` and `commands` are its whole interface. `changes` makes queries, policies and threads
come and go (`switching` says how), `dispatch` starts steps; both work on the `board`, which is made of
`queues`, `units` and `partitions`. `ready`, `merging`, `threads`, `alarms` and `running_apart` are parts of
that. `waiting` says which silent streams make others wait.
`standing` is what survives a crash, `restoring` puts it back; `lifecycle` is MavStream's table of operator
states; `invariants` must hold after every event; `log` records and replays. Start with `machine`.

`sharing` is a second machine of the same kind: it decides what runs for each query, and control runs that.
"""
