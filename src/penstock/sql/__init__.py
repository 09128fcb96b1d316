"""SQL text into plans.

Its rooms, each of which imports only those before it (`tests/test_layers.py`):

    text         the dialect, places in a text, quantities
    typing       Spark's types without Spark
    expressions  expressions of plans: text in, text out
    reading      text into statements
    binding      a SELECT into a plan, and what has been created
    answer       what a statement says back
    comparing    how two definitions differ, and what of it can be changed
    showing      SHOW
    plans        queries that came as plans
    users        what was made from what
    streams      streams in a catalog, and ALTER STREAM
    partitions   SET PARTITION
    session      statements applied to a catalog
    renaming     statements with other names in them
    scoping      statements of one namespace
    difference   what a file would change of a catalog, and the statements that do it
    builder      the same from Python

Start with `session`.
"""
