"""Checks whether a store is whole, and what can be read of a damaged one."""
