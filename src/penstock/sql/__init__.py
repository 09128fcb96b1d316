"""SQL text into plans.

In the order a text travels: `dialect` (sqlglot, with windows behind streams), `reader` (text → statements),
`names` and `typing` (what a name and an expression mean; `functions` knows Spark's), `relation` (the plan so
far, and what can be done to it: the Python `builder` and SQL's `select` both use it), `session` (statements
applied to a catalog). `expressions` asks and changes expressions that stand in plans. Nothing here rewrites
or merges plans: that is `penstock.plan`. Start with `session`.
"""
