"""The command line: one file per group of commands."""

from __future__ import annotations


def main() -> None:
    """The entry point of the `steelyard` command."""
    import atexit
    import gc

    # The process is ours: fewer looks for garbage while modules are loaded, which makes none (see `steelyard`).
    gc.set_threshold(20_000, 20, 20)
    # Nor is there a use in looking through every module once more when all is over.
    atexit.register(gc.freeze)
    from steelyard.cli.app import run_app

    run_app()
