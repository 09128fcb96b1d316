"""What pages say of a query: how it is served, its results and how they are drawn, the forms that change it.

All of it but `downloads` and `results_feed` is pure.
"""
