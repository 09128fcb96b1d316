"""Text into statements: all that stands around a SELECT.

`reader` is the way in, `statements` what comes out, `cursor` the walk over tokens; `definitions`, `wishes`
and `brackets` read what stands in CREATE, in WITH and in brackets; `grammar` and `foreign` are what Spark
does not accept, and what people write who come from elsewhere. May import `text`, `typing` and
`expressions`.
"""
