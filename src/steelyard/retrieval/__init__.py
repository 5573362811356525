"""Chunks of documents and the index that finds them again."""
