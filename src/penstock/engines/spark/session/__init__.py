"""The Spark session: made or handed in, its settings, masters that answer, and Spark's errors as ours.

Not here: what runs on it (`steps`). Imports no other room. Start with `session`.
"""
