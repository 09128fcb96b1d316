"""The virtual-time engine: runs control's commands against a simulated workload.

A workload is a log: when each row arrives, what it costs at each operator and how many rows it becomes are
fixed by the seed and the row's lineage, before anything is scheduled. So every policy meets the very same
rows, and a run is a walk over tables. `draws` and `arrivals` say what a workload is made of, `tables`
computes it, `engine` runs, `results` measures. Start with `engine`.
"""
