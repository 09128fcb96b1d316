"""Many queries on Penstock beside the same on plain Structured Streaming."""
