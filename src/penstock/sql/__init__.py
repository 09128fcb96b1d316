"""SQL text into plans.

Its rooms, each of which imports only those before it (`tests/test_layers.py`):

    text         the dialect, places in a text, quantities
    typing       Spark's types without Spark
    expressions  expressions of plans: text in, text out
    reading      text into statements
    binding      a SELECT into a plan, and what has been created
    session      statements applied to a catalog
    builder      the same from Python

Start with `session`.
"""
