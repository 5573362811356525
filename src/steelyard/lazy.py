"""Public names that are imported on first use (PEP 562), so that `import steelyard` stays light.

A package with public names lists them three times, and a test holds the lists together: in `__all__` for people, as
imports below `TYPE_CHECKING` for type checkers, and as "module:Name" for `lazy_names`, which is all that runs.
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
        homes: "module:Name" of each name; a module without a name stands for itself, under its last part.
    """
    places: dict[str, tuple[str, str]] = {}
    for home in homes:
        module, _, name = home.partition(":")
        places[name or module.rpartition(".")[2]] = module, name

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = places[name]
        # Importing makes many objects and no garbage: the collector would take a sixth of the import's CPU.
        collecting = gc.isenabled()
        gc.disable()
        try:
            imported = import_module(module)
            return getattr(imported, attribute) if attribute else imported
        finally:
            if collecting:
                gc.enable()

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
