"""Kinds of evaluation; each builds a Suite for the one path and knows no other."""
