"""Queries that run as one: shared queries, their members, and how members come, leave, are held and come
back.

| question | file |
| --- | --- |
| which shared queries there are, and who is a member of which | `shared` |
| what the sharing machine is told, and how its commands are obeyed | `driver` |
| the plans of hosts, and what each query was asked to be | `host_plans` |
| what operators remember of a member moves with it | `member_state` |
| what control is told of members, so that the policy decides who runs apart | `member_reports` |
| states of versions that had no records of sharing | `older_states` |

Not here: who is split off, is held or comes back, and when (`penstock.control.sharing`), which queries could
run as one (`penstock.plan`), the table of constants (`steps.rosters`),
members' files (`results.tagged_files`). May import `session`, `storage`, `operators`, `ingest`, `steps`.
"""
