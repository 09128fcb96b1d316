"""Spark's functions: what they take, what they give, whether they can raise, and which are refused and why.

`function` says what is known of one function and how a table is written, `wanted` which arguments it takes,
`rules` how its result type follows from them. The tables: `numbers`, `strings`, `dates`, `collections`,
`formats` (JSON, CSV, XML, variants), `conditions`, `aggregates`, `sketches`, `refused`. Start with
`catalogue`, which finds a function by its name. Nothing here computes a value: Spark does.
"""
