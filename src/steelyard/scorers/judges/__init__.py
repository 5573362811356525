"""Judges: scorers that ask a model. How they ask, fence, read and sum up is shared; each file has one question."""
