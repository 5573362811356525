"""Python objects that a configuration names by their import path: `package.module:name`.

Import paths are checked without importing them: a user's module may build an index or call a model when it is imported.
`check` and a dry run promise to cost nothing, so they read the source of the module: whether there is such a module,
whether it binds the name, and which packages it needs. What only running it could tell is found when a run begins.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, machinery, util
from pathlib import Path
from typing import Annotated, Any, Final

from steelyard.errors import ConfigError, boundary, did_you_mean


@lru_cache(maxsize=64)
def find_function(path: str) -> Callable[..., Any]:
    """Import the function at `package.module:name`.

    Raises:
        ConfigError: there is none.
    """
    value = find_object(path)
    if not callable(value):
        raise ConfigError(f"{path!r} is a {type(value).__name__}, not a function")
    function: Callable[..., Any] = value
    return function


def check_function(path: str) -> None:
    """Find a function in the source of its module; importing it may be expensive and happens later.

    Raises:
        ConfigError: there is none of that name.
    """
    described = describe_path(path)
    if described.is_class:
        raise ConfigError(f"{path!r} is a class, not a function")
    if described.plain:
        raise ConfigError(f"{path!r} is a {described.plain}, not a function")


def _is_function(_name: str, path: str) -> None:
    check_function(path)


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function of the user's in a configuration, as target or scorer.

    Args:
        function: `package.module:name`; the current folder is searched too.
    """

    function: Annotated[str, _is_function]

    @property
    def may_ask(self) -> bool:
        """Whether the function declares `ask`, so that a dry run has to call it to count what it asks."""
        return "ask" in (describe_path(self.function).arguments or ())

    def unwrap(self) -> Callable[..., Any]:
        """Import and return the function."""
        return find_function(self.function)


def find_object(path: str) -> Any:
    """Import the object at `package.module:name`; the current folder is searched too.

    Raises:
        ConfigError: there is nothing of that name, or its module cannot be imported; the cause is chained.
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise ConfigError(f"{path!r} is not an import path: write package.module:name")
    look_here()
    with boundary("config", f"{path!r} cannot be imported"):
        value: Any = import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    return value


_SOURCES: Final = (".py", ".pyw")
_PLAIN: Final = (bool, int, float, str, bytes, list, tuple, dict, set, type(None))
_DISPLAYS: Final = ((ast.List, "list"), (ast.Tuple, "tuple"), (ast.Dict, "dict"), (ast.Set, "set"))


@dataclass(frozen=True, slots=True)
class Described:
    """What the source of a module tells about a name.

    Args:
        arguments: of the function of that name; None where it is not a plain function, or nothing can be said.
        needed: how many of them a caller has to give.
        is_class: whether it is a class.
        plain: the type of a plain value (`int`, `list`); "" for anything else.
    """

    arguments: tuple[str, ...] | None = None
    needed: int = 0
    is_class: bool = False
    plain: str = ""


def describe_path(path: str) -> Described:
    """Describe the object at `package.module:name` from the module's source, without importing it.

    Raises:
        ConfigError: it is not an import path, there is no such module, it cannot be read, or it binds no such name.
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise ConfigError(f"{path!r} is not an import path: write package.module:name")
    look_here()
    loaded = sys.modules.get(module)
    if loaded is not None:
        return _of_object(path, loaded, name)
    tree = _tree_of(path, module)
    if tree is None:
        return Described()
    bound = dict(_bound(tree.body))
    first = name.partition(".")[0]
    if first not in bound:
        if "*" in bound or "__getattr__" in bound or _binds_by_hand(tree):
            return Described()
        message = f"module {module!r} has no attribute {first!r}{did_you_mean(first, bound)}"
        raise ConfigError(f"{path!r} cannot be imported: AttributeError: {message}")
    return _of_node(bound[first]) if first == name else Described()


def missing_package(path: str) -> str:
    """Return the first module that the module of an import path imports and that is nowhere; "" for none."""
    module, _, name = path.partition(":")
    look_here()
    if not module or not name or module in sys.modules:
        return ""
    tree = _tree_of(path, module)
    top = module.partition(".")[0]
    if tree is None or any(
        isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path" for node in ast.walk(tree)
    ):
        return ""  # It may find modules where nobody else does.
    for statement in tree.body:
        for name in _imported(statement):
            if name.partition(".")[0] != top and not _is_there(name):
                return name
    return ""


def look_here() -> None:
    """Add the current folder to the module search path."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _of_object(path: str, value: Any, name: str) -> Described:
    """Of a module that is imported already; looking at it costs nothing."""
    for part in name.split("."):
        if not hasattr(value, part):
            raise ConfigError(f"{path!r} cannot be imported: AttributeError: {value!r} has no attribute {part!r}")
        value = getattr(value, part)
    code = getattr(value, "__code__", None)
    if code is None:
        plain = type(value).__name__ if isinstance(value, _PLAIN) else ""
        return Described(is_class=isinstance(value, type), plain=plain)
    return Described(
        tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]),
        code.co_argcount - len(value.__defaults__ or ()),
    )


def _tree_of(path: str, module: str) -> ast.Module | None:
    """The source of a module as a tree; None where it has none, as an extension.

    Raises:
        ConfigError: there is no such module, or its source cannot be read.
    """
    spec = _spec_of(module)
    if spec is None:
        raise ConfigError(f"{path!r} cannot be imported: ModuleNotFoundError: No module named {module!r}")
    origin = spec.origin or ""
    if not origin.endswith(_SOURCES):
        return None
    try:
        stamp = Path(origin).stat()
        return _parsed(origin, stamp.st_mtime_ns, stamp.st_size)
    except (OSError, ValueError, SyntaxError) as error:
        raise ConfigError(f"{path!r} cannot be imported: {type(error).__name__}: {error}") from error


@lru_cache(maxsize=32)
def _parsed(origin: str, _mtime_ns: int, _size: int) -> ast.Module:
    return ast.parse(Path(origin).read_bytes(), origin)


def _spec_of(module: str) -> machinery.ModuleSpec | None:
    """Where a module is, without importing the packages that it is in."""
    top, *submodules = module.split(".")
    try:
        spec = util.find_spec(top)
    except (ImportError, ValueError):
        return None
    name = top
    for part in submodules:
        folders = spec.submodule_search_locations if spec is not None else None
        if folders is None:
            return None
        name = f"{name}.{part}"
        spec = _spec_inside(name, list(folders))
    return spec


def _spec_inside(name: str, folders: list[str]) -> machinery.ModuleSpec | None:
    """Where a module of a package is, the package being in `folders`."""
    try:
        return machinery.PathFinder.find_spec(name, folders)
    except KeyError:
        # A package without an init file asks the package above it where it is, and that is not imported here.
        spec = machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(Path(folder) / name.rpartition(".")[2]) for folder in folders]
        return spec


def _is_there(name: str) -> bool:
    if name in sys.modules:
        return sys.modules[name] is not None
    if _spec_of(name) is not None:
        return True
    # Some packages make their modules themselves, so that only of a plain folder it is known what it lacks.
    above = _spec_of(name.rpartition(".")[0]) if "." in name else None
    return above is not None and not (above.origin or "").endswith(_SOURCES)


def _bound(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a module binds, those inside `if`, `try` and `with` included, each with its statement."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name, statement
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, statement
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, node
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield from ((alias.asname or alias.name.partition(".")[0], node) for alias in node.names)


def _binds_by_hand(tree: ast.Module) -> bool:
    """Whether a module may bind names that no statement of it shows."""
    return any(
        isinstance(node, ast.Global) or (isinstance(node, ast.Name) and node.id in {"globals", "setattr", "exec"})
        for node in ast.walk(tree)
    )


def _of_node(node: ast.stmt) -> Described:
    if isinstance(node, ast.ClassDef):
        return Described(is_class=True)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return Described(plain=_plain_in(node))
    arguments = node.args
    if node.decorator_list:  # it may fill arguments in, but most keep their names
        return Described(_arguments(arguments))
    needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return Described(_arguments(arguments), needed + sum(default is None for default in arguments.kw_defaults))


def _plain_in(node: ast.stmt) -> str:
    """The type of the plain value that a statement binds; "" for any other."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    single = len(targets) == 1 and isinstance(targets[0], ast.Name)
    value = node.value if single and isinstance(node, ast.Assign | ast.AnnAssign) else None
    if isinstance(value, ast.Constant):
        return type(value.value).__name__
    return next((name for kind, name in _DISPLAYS if isinstance(value, kind)), "")


def _arguments(arguments: ast.arguments) -> tuple[str, ...]:
    return tuple(posonlyarg.arg for posonlyarg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def _imported(statement: ast.stmt) -> Iterator[str]:
    """The modules that a statement of a module imports; those inside `try` or `if` may be missing."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module:
        yield statement.module
