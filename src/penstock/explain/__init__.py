"""`penstock explain`: what would run, before anything runs.

`explanation` applies the statements of a file and collects what there is to know of each query and of the
graph of all; `text`, `as_json` and `drawing` show it to people, to programs and as a picture (`layering`
finds the places in it). Nothing here runs a query. Start with `explanation`.
"""
