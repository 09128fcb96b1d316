"""What statements ask for becomes plans, sources and sinks in use; what is refused changes nothing.

`statements` prepares a text, `checks` refuses what can be known before anything runs, `registrar` applies
it within one commit, `inputs` and `outputs` are the streams, tables and sinks in use, `dropping` is what
goes when nobody reads it any more. May import all rooms but `status`.
"""
