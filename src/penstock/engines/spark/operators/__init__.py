"""What each operator is on Spark: SQL text for the job, and for stateful ones what happens between jobs.

`base` has the words all of them use; `stateless` the operators that need no memory; then one file for each
stateful one. `waiting` says whether what one remembers waits for time.
"""
