"""Samples from spreadsheets, text tables and JSON; documents from text and Markdown."""
