"""Datasets made from documents: questions with their answers and sources. Making one is a run like any other."""
