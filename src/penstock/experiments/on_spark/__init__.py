"""The papers' engine experiments as real steps: the same queries and rows on Spark, beside virtual time.

work       SQL expressions that take as long as a paper says an operator takes
scenario   queries and which rows arrive when, the same on Spark and in virtual time; what runs come to
rig        an engine that runs scenarios under one policy after the other
running    feeds rows when they are due and takes down what comes of it
predicting what virtual time says a scenario comes to, with what an earlier run on Spark measured
sweeping   scenarios in turns: on Spark, and what virtual time had said before
comparing  predictions beside what was measured
noise      up to what a difference between runs is chance
catalogue  the experiments by id, each in a module of its paper's: start there
"""
