"""Who looks at the page: signing in, and asking the API with the rights of whoever has signed in.

Start with `visitor`.
"""
