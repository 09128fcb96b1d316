"""`make soak`: 50 queries for half an hour or more, while one bad thing after the other happens to them.

`run` starts here; `world` has the streams and queries, `engine` is the process that runs them, `torments` are
the bad things, `gauges` watch memory and open files, `judging` holds all results against plain Spark batch.
"""
