"""A step: one unit over one train of batches, as Spark jobs.

| question | file |
| --- | --- |
| what a step does, from its rows to what is to be committed | `steps` |
| which SQL a unit's jobs are, and where what comes out goes | `units` |
| columns that stay behind because a job would only copy them | `copied` |
| SQL planned once and run many times | `prepared` |
| the table of constants that rows are joined with for a shared query | `rosters` |
| watermarks from a unit's inputs to its outputs | `watermarks` |
| how far operators have come, and what they remember | `progress` |
| what a job makes on its way, and for which operator | `stages` |
| what operators of one job cost and let pass, by samples | `profiling`, `probing`, `sizes` |
| which members or rows make a step fail | `bisection`, `skipping`, `skipped` |

Not here: what each operator is (`operators`), who runs a step and when (`runtime`). May import `session`,
`storage`, `operators`, `ingest`.
"""
