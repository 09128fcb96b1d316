"""What the longer commands do: one file each. `cli` has their options; here is no decision about queries."""
