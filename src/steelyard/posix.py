"""The modules of the standard library that exist on POSIX systems alone, and the sentence for all others.

Locks of stores, limits of sandboxed processes and signals of a run need them. Whatever needs one takes it from here, so
that another system is refused with one sentence and not with the name of a missing module.
"""

from __future__ import annotations

from steelyard.errors import ConfigError

try:
    import fcntl
    import pwd
    import resource
except ImportError as error:
    raise ConfigError(
        "Steelyard runs on Linux and macOS: the locks of its store and the limits of its sandbox do not exist here. On "
        "Windows, use WSL 2 (wsl --install), and install and run it there"
    ) from error

__all__ = ["fcntl", "pwd", "resource"]
