"""What decides: policy = cut × rank × quantum.

`cuts/` divides the graph into units, one file per way; `ranks/` orders the ready units, one file per way;
`registry` combines them under the names people use. `layout` says where a cut puts the queues, `costs` holds
the papers' equations. Nothing here knows about time, threads or Spark. Start with `registry`.
"""
