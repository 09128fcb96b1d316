"""Continuous queries as Spark jobs. The only importer of pyspark.

`engine.Engine` is what people use. Data flows from `sources` through `ingest` into the log, from there as
`steps` through prepared Spark jobs (`prepared`, `units`, `operators`), and out through `sinks`; `store` keeps
every table that waits, `commit_log` what is true after a crash. Scheduling is `control`'s. Start with
`engine`.
"""
