"""Evaluates text-to-SQL: whether the SQL of a target parses, runs, and returns the reference's result."""
