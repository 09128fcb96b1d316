"""The chaos test: `penstock run` is killed over and over, and in the end every result is there, once.

`run` starts, kills and judges; `feeding` is what the world does meanwhile; the `.sql` files are the cases.
"""
