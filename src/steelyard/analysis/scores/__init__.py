"""Columns of a run's scores, and means, intervals and distributions over them."""
