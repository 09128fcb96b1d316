"""Equivalent plans of a query, and which of them to run.

One rewrite per file, named like its function; `rules` has them all in order. A rewrite looks at one node and
what it reads, and yields nodes that put out the same rows with the same columns. `space` is where it makes
them, `safety` says what may not be moved, `texts` changes expressions. Of joins, `sides` knows which column
comes from where, `row_time` which has a row's time; `join_region` takes several apart, `join_building` puts
them together. Of columns, `needs` knows which are read and `narrow` drops the others. `generator` searches.
What a plan costs is in `plan.costing`. Start with `generator`, then any rule.
"""
