"""Predicted tables, or predicted SQL by what it returns, weighed against wanted ones."""
