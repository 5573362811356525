"""The `general` suite: any table of inputs, prompts and models or any target, any scorers."""
