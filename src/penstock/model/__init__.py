"""What there is, and nothing that happens.

Frozen types with lookups only: `schema`, `window`, `operators`, `query` (with its plan, a tree), `qos`,
`graph` (all queries' operators), `estimates`, `unit`, `batch`. What is done to them lives in `plan` and
`policies`. Start with `operators`, then `graph`.
"""
