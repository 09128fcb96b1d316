"""StreamAPAS' engine in small: what it costs threads to hand each other batches, with nothing done to them.

`buffers` are the queues between two operators, `layers` the tuple transport layers on top (signals, inputs in
time order), `threads` runs them in real threads, `measures` lists what is measured, `measuring` measures it
in turns and concludes. What simulations use of it is in `experiments/handing_over.json`.
"""
