"""Where results go. `base` is the interface, `files` the sinks that others read, the rest one file each."""
