"""Compares predicted tables, or the results of predicted SQL, with the expected ones."""
