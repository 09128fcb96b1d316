"""The papers' figures, one module per paper, one function per figure.

`report` is what every figure returns, `parallel` runs its simulations on all cores, `catalogue` lists them
all. Start with `catalogue`.
"""
