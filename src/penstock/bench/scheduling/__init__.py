"""What policies, thread plans and re-cutting do on Spark, each beside the others or the same without.

`workload` says which queries and rows, `running` feeds them to an engine and takes down what happens,
`policies`, `threads` (with `selections`) and `drift` are the three measurements, `samples` and `claims` what
is concluded from them, `simulated` the policies' in virtual time, `pictures` how they look.
"""
