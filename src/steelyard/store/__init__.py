"""Runs on disk: the schema, the journal with its writer, and the handle that reads them."""
