"""Converts configuration files to suites; errors name file, line and column."""
