"""How throughput, the driver's memory and the rows it sees go with rows and tasks, beside plain Spark batch.

`backlog` makes the files that are read, `sides` runs the one query over them in each way. `throughput` and
`stepping` are processes that measure: how soon a backlog is through, and what its steps alone take once the
rows are there. `processes` starts them, `measure` takes turns, `report` says what it came to, `picture`
draws.
"""
