"""What makes it run: one thread that decides and commits, the workers that run steps, going on after a
crash.

`coordinator` tells control what happened, obeys it and commits; `mailbox` is how other threads reach it.
`intake` records what the feeder brings, `query_lives` what is to be done when queries begin and end.
`workers` run steps; `holding` is what queries hold; `recovery` restores everything from the commit log. May
import all rooms but `statements` and `status`.
"""
