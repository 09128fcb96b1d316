"""SQL as text: the dialect that sqlglot reads, where something stands in a text, and quantities like `2s`.

Not here: what any of it means. Imports no other room.
"""
