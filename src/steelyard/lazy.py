"""Public names that are imported on first use (PEP 562), so that `import steelyard` stays light.

A package lists its public names once, in the stub beside it (`__init__.pyi`), as imports: type checkers and editors
read the stub, and `lazy_names` makes of it what the package needs at run time.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose public names live in other modules.

    Args:
        package: `__name__` of the package.
        file: `__file__` of the package; `from module import name as name` in the stub beside it is a public name, and
            `from package import module as module` a public module of it.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    origins = {
        alias.name: f"{node.module}.{alias.name}" if node.module == package else node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # Importing creates many objects and no garbage: the collector would take a sixth of the import's CPU.
        collecting = gc.isenabled()
        gc.disable()
        try:
            imported = import_module(origins[name])
        finally:
            if collecting:
                gc.enable()
        return imported if imported.__name__ == f"{package}.{name}" else getattr(imported, name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *origins})

    return get, names, sorted(name for name, origin in origins.items() if origin != f"{package}.{name}")
