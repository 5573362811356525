"""The command line: one file per group of commands; `app` lists them."""

from __future__ import annotations


def main() -> None:
    """Run the `steelyard` command: the entry point of the installed script."""
    import atexit
    import gc
    import io
    import os
    import sys

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # whoever started us closed it: the next file would have its number
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  # open to the end
    if isinstance(sys.stdout, io.TextIOWrapper):  # a locale of other letters than those of a dataset is no defect
        sys.stdout.reconfigure(errors="backslashreplace")
    # Importing modules creates many objects and almost no garbage, so the collector may run less often; at exit a last
    # collection over all modules would free nothing that the end of the process does not.
    gc.set_threshold(20_000, 20, 20)
    atexit.register(gc.freeze)
    try:
        from steelyard.cli.app import run_app
    except KeyboardInterrupt:  # the imports take a moment, and Ctrl-C within it is no defect
        sys.exit(130)
    run_app()
