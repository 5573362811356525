"""Judges and people: how they agree, juries, what else influences verdicts."""
