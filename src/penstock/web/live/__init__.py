"""What is known of the engine from moment to moment, taken once for all pages that are open.

`looks` asks, `history` keeps the last minutes.
"""
