"""The command line: one file per group of commands."""

from __future__ import annotations


def main() -> None:
    """The entry point of the `steelyard` command."""
    from steelyard.cli.app import run_app

    run_app()
