"""The papers' engine experiments as real steps: the same queries and rows on Spark, beside virtual time.

work       SQL expressions that take as long as a paper says an operator takes
scenario   queries and which rows arrive when, the same on Spark and in virtual time; what runs come to
rig        an engine that runs scenarios under one policy after the other
running    feeds rows when they are due and takes down what comes of it
predicting virtual time with what another run on Spark measured, beside what Spark does
"""
