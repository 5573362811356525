"""Prompts: their texts, the templates that are filled from samples, few-shot examples, fences and reply schemas.

The packaged texts are in `en` and `zh`, the packaged JSON schemas in `replies`.
"""
