"""What is done to plans before they run.

`admission` takes a new query into the graph of all: the best of its `alternates` by `costing`, in `canonical`
form, merged by `sharing`. `validate` refuses plans that cannot run (`rules` has what is asked of an operator,
`ranges` of a number), `schemas` derives what each operator puts out, `document` reads and writes plan JSON
(`complaints` words what is wrong with it), `text` prints plans. `regrouping` makes two of an aggregate, for
panes and over unions. Nothing here schedules. Start with `admission`.
"""
