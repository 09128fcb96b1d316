"""What is done to plans before they run.

`validate` refuses plans that cannot run (`rules` has what is asked of an operator, `ranges` of a number),
`schemas` derives what each operator puts out, `sharing` merges a query into the graph of all and takes it
out again, `document` reads and writes plan JSON (`complaints` words what is wrong with it). Nothing here
schedules. Start with `sharing`.
"""
