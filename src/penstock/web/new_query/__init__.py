"""A query that is being written: what it would be, and steps of forms that become SQL. Pure.

`steps` are what somebody chose, `step_sql` is each as a SELECT, `building` all of them as one query.
"""
