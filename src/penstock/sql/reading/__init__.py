"""Text into statements: all that stands around a SELECT.

`reader` is the way in, `statements` what comes out, `cursor` the walk over tokens; `definitions`, `wishes`,
`altering` and `brackets` read what stands in CREATE, in WITH, in ALTER and in brackets; `grammar` and
`foreign` are what Spark does not accept, and what people write who come from elsewhere. May import `text`,
`typing` and `expressions`.
"""
