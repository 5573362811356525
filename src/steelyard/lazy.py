"""Public names that are imported on first use (PEP 562), so that `import steelyard` stays light.

A package with public names lists them three times, and a test checks that the lists agree: in `__all__` for people, as
imports below `TYPE_CHECKING` for type checkers, and as "module:Name" for `lazy_names`, the only list used at run time.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str, *homes: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose public names live in other modules.

    Args:
        package: `__name__` of the package.
        homes: "module:Name" of each name; "module" alone makes the module itself public, under its last part.
    """
    origins: dict[str, tuple[str, str]] = {}
    for home in homes:
        module, _, name = home.partition(":")
        origins[name or module.rpartition(".")[2]] = module, name

    def get(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = origins[name]
        # Importing creates many objects and no garbage: the collector would take a sixth of the import's CPU.
        collecting = gc.isenabled()
        gc.disable()
        try:
            imported = import_module(module)
            return getattr(imported, attribute) if attribute else imported
        finally:
            if collecting:
                gc.enable()

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *origins})

    return get, names
