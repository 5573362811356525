"""What is read of runs: columns, pages of records, searches and frames."""
