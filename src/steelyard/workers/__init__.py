"""Several processes work on one run: each takes ranges of samples by leases from a PostgreSQL store.

The process that was started plans the ranges, starts the workers and restarts those that die; the truth is in the
store. See docs/scale.md.
"""
