"""Results, from a step to whoever wants them.

| question | file |
| --- | --- |
| what a step put out: staged, recorded with its commit, shown after it | `results` |
| which sinks there are, what waits for them, how they fail | `delivery`, `serving`, `outbox` |
| functions and subscriptions, their names, what they get after a restart | `readers`, `subscribers` |
| what `Engine.results` reads | `reading` |
| files with rows of many members; when rows move to their own directories | `tagged_files`, `distributing` |
| in which order files are numbered; which commits a file has rows of | `file_order`, `origins` |
| where results are, for another process | `places` |
| windows that were open when a query ended | `draining` |
| the windows that a query ends with | `full_windows` |
| latency, staleness, rows that wait, and memory | `measures`, `staleness`, `memory` |
| the log of a stream as a table, for `verify` | `recording` |
| file formats and other places | `sinks/` |

May import `session`, `storage`, `operators`, `ingest`, `steps`, `sharing`.
"""
