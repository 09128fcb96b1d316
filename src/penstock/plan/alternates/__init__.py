"""Equivalent plans of a query, and which of them to run.

One rewrite per file, named like its function; `rules` has them all in order. A rewrite looks at one node and
what it reads, and yields nodes that put out the same rows with the same columns. `space` is where it makes
them, `safety` says what may not be moved, `sides` and `join_region` know how joins name their columns,
`generator` searches. What a plan costs is in `plan.costing`. Start with `generator`, then any rule.
"""
