"""Expressions that stand in plans: text in, text out.

`texts` asks questions about them and takes them apart, `canonical` finds one text for those that mean the
same, `constants` takes their constants out, `windowing` writes a join's window as a condition,
`parentheses` are where they are needed. `aggregate_call` reads a call of an aggregate function,
`aggregate_parts` says how each is computed from parts, `row_order` what order means to those that depend on
it. May import `text` and `typing`.
"""
