"""Rows, wherever they are: what operators do with what they remember, however it is carried out.

- `expressions`: conditions and numbers over the columns of rows, as SQL
- `base`: what can be done with rows
- `in_hand`: rows that the driver has as an Arrow table
- `at_large`: rows in files that Spark's tasks read and write
"""
