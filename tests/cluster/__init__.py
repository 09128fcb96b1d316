"""The engine on a cluster of this machine: a standalone master, two workers, executors that are killed."""
