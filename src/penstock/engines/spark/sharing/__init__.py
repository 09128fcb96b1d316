"""Queries that run as one: shared queries, their members, and how members come, leave, are held and come
back.

| question | file |
| --- | --- |
| which shared queries there are, and who is a member of which | `shared` |
| a member joins, stops, is split off, is held, comes back | `membership` |
| a query becomes something else while it runs | `altering` |
| what operators remember of a member moves with it | `member_state` |
| what control is told of members, so that the policy decides who runs apart | `member_reports` |

Not here: which queries could run as one (`penstock.plan`), the table of constants (`steps.rosters`),
members' files (`results.tagged_files`). May import `session`, `storage`, `operators`, `ingest`, `steps`.
"""
