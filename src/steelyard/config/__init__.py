"""Configuration files to Suites and back, with errors that name file, line and column."""
