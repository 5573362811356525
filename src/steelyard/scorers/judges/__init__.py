"""Judges: scorers that ask a model. Calls, prompts and parsing are shared; each module covers one kind of question."""
