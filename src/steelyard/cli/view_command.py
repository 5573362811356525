"""The command `view`: serves the runs of a store to a browser on this machine."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli import options
from steelyard.viewer.browser_start import start_browser
from steelyard.viewer.server import ViewerOptions, serve


def view(
    store: options.StoreOption = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Listen on this port; 0 takes a free one.", min=0, max=65535)
    ] = 7533,
    read_only: Annotated[bool, typer.Option("--read-only", help="Do not write marks, notes or labels.")] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the address in a browser.")] = True,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Listen on this address instead of loopback only.")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Also answer requests for this host name."),
    ] = None,
    root_path: Annotated[
        str, typer.Option("--root-path", metavar="PATH", help="The prefix under which a proxy serves the viewer.")
    ] = "",
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", help="Keep the token in this file, so that open pages survive a restart."
        ),
    ] = None,
) -> None:
    """Show runs in a browser, also while they run.

    Anybody who knows the address, which contains a token, can read every run of the store. Ctrl-C ends the viewer.
    """
    served = ViewerOptions(
        store=store,
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        root_path=root_path,
        read_only=read_only,
        token_file=token_file,
    )

    def started(address: str) -> None:
        typer.echo(f"the viewer is at {address}")
        typer.echo("Ctrl-C ends it", err=True)
        if browser:
            start_browser(
                address, failed=lambda: typer.echo("no browser could be started: open the address yourself", err=True)
            )

    # At its end the process deletes what it left; by itself Python does so after Ctrl-C alone.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    serve(served, started=started)
