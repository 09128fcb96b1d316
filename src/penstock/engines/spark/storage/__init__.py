"""What is on disk: tables as immutable files, and the commit log that says which of them count.

`records` are the values that the log keeps, `queue_records` how queues are written to it. Not here: what
any of it means; going on after a crash is `runtime.recovery`. Imports no other room. Start with `store`,
then `commit_log`.
"""
