"""What there is, and nothing that happens.

Frozen types with lookups only: `schema`, `window`, `operators`, `plan` (one query's tree), `qos`, `query`,
`graph` (all queries' operators), `estimates`, `unit`, `batch`. What is done to them lives in `plan` and
`policies`. Start with `operators`, then `graph`.
"""
