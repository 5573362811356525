"""`evaluate` as Python code calls it: what may be given to it, and the runs that come back."""
