"""Who may do what, how often and how much, and what is written down of it.

`tokens` say who somebody is (`guessing` slows those who try), `roles` what that one may do, `limits` how
much, `registry` keeps namespaces, grants and positions, `audit` what was asked and refused, `headers` what
browsers are told and which requests of theirs are not taken. Deciding is pure, with the clock passed in;
`tokens`, `registry` and `audit` keep files. Start with `roles`.
"""
