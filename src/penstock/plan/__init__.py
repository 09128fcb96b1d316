"""What is done to plans before they run.

`validate` refuses plans that cannot run, `sharing` merges a query into the graph of all and takes it out
again, `document` reads and writes plan JSON. Nothing here schedules. Start with `sharing`.
"""
