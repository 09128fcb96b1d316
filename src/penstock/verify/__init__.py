"""Results against the oracle: a file run under several schedules, and by plain Spark in batch over its log.

`schedules` says how each run differs, `batch` runs the oracle's SQL over what the engine has recorded, and
`comparison` holds two tables against each other. Start with `verifying`.
"""
