"""Builds objects from plain values: a tree that knows where each value was written, and the classes' own fields.

Configuration files are read in `steelyard.config`; scorers in a dataset's rows and in Python dicts are built here too.
"""
