"""Where rows come from. A source says which rows have arrived by now and where it stands; it keeps nothing.

`base` is the interface, `registry` makes the source of a stream. `replay` brings rows of `files` or of a
`generator` at a `pace`; `arriving` (with `directory`), `push` and `structured` bring them as they come.
`walk` goes through files by way of `lines` (with `csv_lines` and `csv_records`, or `json_lines`) or
`parquet_rows`; `sifting` and `fit` make typed rows of what is there and set aside what does not parse, for
`dead_letters`. `tables` reads stored relations. The log (`ingest`) makes all of them replayable.
"""
