"""Committed results, read by a process that has no engine.

| question | file |
| --- | --- |
| where a row stands among all results of its query | `positions` |
| which files there are, and which rows of which commits each of them has | `directories` |
| in which order files are read, and each commit once | `segments` |
| tables that many ask for, read once | `tables` |
| pages of a query's results, behind a position | `reading` |

Start with `reading`. Nothing here imports pyspark. How files come about is `penstock.engines.spark.results`;
why it is so, `docs/adr/0017-result-positions.md`.
"""
