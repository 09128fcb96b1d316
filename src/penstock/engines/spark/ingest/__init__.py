"""How rows come in: sources, threads that read ahead, and the feeder that decides all that is to be
decided.

| question | file |
| --- | --- |
| where rows come from, file formats, files that were read already | `sources/` |
| how far ahead of the feeder a stream is read | `reading` |
| batches, offsets, `now()`, watermarks of idle streams | `feeder` |
| which rows are late | `stamping` |
| which files are logged as they are | `whole_files` |
| how many late rows each query missed | `late_rows` |
| stored tables, and which version of them a row meets | `relations` |
| rows that came while nobody reads their stream | `retention`, `retained` |

Not here: what happens to rows once they are logged (`steps`). May import `session`, `storage`, `operators`.
"""
