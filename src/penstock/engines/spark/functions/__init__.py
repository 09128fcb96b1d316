"""Functions in Python: how Spark runs them, within limits of time and memory.

- `limits` watches a call: its time, and the memory of the process.
- `worker` runs in Spark's Python workers: it calls a function for a task's rows, and says what went wrong.
- `annotations` reads types from a callable's annotations.
- `registry` makes the functions of a catalog known to a session of Spark, and tries each before it is used.

Not here: what a function is to SQL (`sql/typing/functions/python_functions`, `sql/binding/python_calls`), nor
who is suspended when one fails (`steps`, `runtime`). Start with `worker`.
"""
