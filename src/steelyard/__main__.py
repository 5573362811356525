"""`python -m steelyard` is the `steelyard` command."""

from steelyard.cli import main

main()
