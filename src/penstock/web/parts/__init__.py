"""What pages are made of.

`frame` is around every page; `elements` are texts, buttons, fields and dialogs, each with its style and its
name for screen readers; the other modules are components that draw in the browser, one file in `js/` each.
"""
