"""A SELECT into a plan: what names mean, and what each clause makes of the rows before it.

| question | file |
| --- | --- |
| a SELECT as a whole | `select` |
| what has been created | `catalog` |
| FROM, windows of streams, joins | `from_clause`, `joins`, `time_ranges` |
| which columns a name means | `names`, `relation` |
| WHERE, ON, HAVING | `conditions` |
| GROUP BY and aggregates | `grouping`, `window_calls` |
| what columns are called | `select_list` |
| what is refused, and what to write instead | `refusals` |

May import `text`, `typing`, `expressions` and `reading`.
"""
