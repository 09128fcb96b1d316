"""How the graph can be divided among threads."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

#: In this order: one thread for all; a thread for each unit; one for all, no inner queues; any worker takes
#: any unit; each unit is one worker's; a thread for each partition, with its own policy and priority.
Scheduling: TypeAlias = Literal["gts", "ots", "di", "pool", "owned", "hmts"]
SCHEDULINGS: tuple[Scheduling, ...] = get_args(Scheduling)
#: Under the last, the partition of what no other names; it may have a policy and a priority, too.
REST = "rest"

#: How steps are run: in the driver's hand, at large by many tasks, or whichever what waits is worth.
#: `alternately` changes with each step: it is for tests.
Way: TypeAlias = Literal["by-size", "in-hand", "at-large", "alternately"]
#: Those that people choose among.
WAYS: tuple[Way, ...] = ("by-size", "in-hand", "at-large")
