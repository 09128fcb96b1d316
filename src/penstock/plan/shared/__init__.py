"""Which queries can run as one, and how: plans that differ in constants only, or in the lengths of windows.

| question | file |
| --- | --- |
| what two plans have in common apart from their constants | `shapes` |
| a query of a shape that is known need not be planned | `templates` |
| who of those that come becomes a member of what, and who runs by itself | `together` |
| what shared queries are called | `names` |
| windows of different lengths over the same rows | `panes` |
| how long a shared query remembers rows that are no member's in particular | `remembering` |

Not here: members while they run (`control.sharing` decides, `engines.spark.sharing` obeys); operators that
plans have in common as they are (`plan.sharing`).
"""
