"""Splits documents into chunks and searches them."""
