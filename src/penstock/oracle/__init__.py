"""The oracle: a Penstock SQL file as plain Spark SQL, whose batch results say what continuous ones must be.

It goes from text to text, by the syntax tree alone: no plan, no binding and nothing of an engine is used, so
that a mistake there cannot hide here. Start with `translate`.
"""
