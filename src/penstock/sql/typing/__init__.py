"""Spark's types without Spark: what type an expression has, in ANSI mode, and whether it can raise.

| question | file |
| --- | --- |
| which types there are, which is wider | `types`, `casts` |
| the type of an expression | `expression_types`, with `typed_calls`, `typed_operators`, `arithmetic` |
| which functions there are, and what they give | `functions/` |
| which types a stream or a result can hold | `storable` |

May import `text`.
"""
