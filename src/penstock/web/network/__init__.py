"""The network of operators as a picture, and the figures in it. Pure.

`drawing` has boxes and lines, `readings` what is measured of them; names are people's, by
`explain.operator_texts`.
"""
