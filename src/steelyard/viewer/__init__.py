"""The local web application: looks at a store's runs, also while they run, and writes marks of runs and notes."""
