"""What each endpoint does, by subject.

`statements`, `streams`, `queries`, `results`, `scheduling`, `administration` and `operations`;
`shared` has what they have in common: who asks, what is answered when something is wrong.
"""
