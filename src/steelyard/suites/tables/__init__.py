"""Predicted tables, or predicted SQL by what it returns, compared with the expected ones."""
