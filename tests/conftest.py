"""What every test may rely on: no network but loopback, no store but its own."""

from __future__ import annotations

import gc
import ipaddress
import itertools
import os
import re
import signal
import socket
import zlib
from functools import cache
from pathlib import Path

import jinja2
import pytest
from hypothesis import HealthCheck, settings
from tests.browser.chromium import browse, chromium, in_browser  # noqa: F401  # fixtures
from tests.thorough import times

# The same few examples each time, so that a change is judged by itself; thorough tests draw many new ones.
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=300)
settings.register_profile("fast", settings.get_profile("thorough"), derandomize=True, max_examples=25)
settings.load_profile(times("fast", "thorough"))

_FRAMEWORK = re.compile(
    r"^\s*(?:import|from) (?:datasets|evalica|llama_index|pandas|polars|pyarrow|rouge_score|scipy|statsmodels)\b",
    re.MULTILINE,
)
"""What takes many megabytes of each process that imports it, up to two hundred."""
_TABLE_FRAMEWORKS = re.compile(r"^\s*(?:import|from) (?:datasets|llama_index|pandas|polars|pyarrow)\b", re.MULTILINE)
"""About half of that; the other half is for statistics."""
_FOLDERS = itertools.count()
_LOOPBACK = {"localhost", "", None}


def _is_loopback(host):
    if host in _LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def pytest_addoption(parser):
    parser.addoption(
        "--frameworks", choices=("with", "without", "only"), default="with", help="tests that import a large framework"
    )
    parser.addoption(
        "--share", metavar="NUMBER/PROCESSES", help="read this share of the files, from 0, as tests.shares"
    )


def pytest_configure(config):
    # A shell lets what it starts in the background ignore Ctrl-C, and the programs that tests stop would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if share := config.getoption("share", None):
        number, processes = map(int, share.split("/"))
        by_framework = config.getoption("frameworks") == "only"
        config.pluginmanager.register(Share(number, processes, by_framework=by_framework))


class Share:
    """Leaves out the files of other processes. A plugin, as hooks of this file are not asked about files of `src`.

    Args:
        number: of this process, from 0.
        processes: how many there are.
        by_framework: by what they import, so that neither of two processes imports all; else by their names, which
            shares out about as many files to each, and the same on every machine.
    """

    def __init__(self, number, processes, *, by_framework):
        self.number = number
        self.processes = processes
        self.by_framework = by_framework

    def pytest_ignore_collect(self, collection_path):
        """Before they are imported."""
        if collection_path.suffix != ".py" or collection_path.is_dir() or _is_slow(collection_path):
            return None
        return not self._has(collection_path) or None

    def pytest_collection_modifyitems(self, items):
        """Also those of files that are named as arguments, which pytest never ignores."""
        slow = [item for item in items if _is_slow(item.path)]
        mine = slow[self.number :: self.processes]
        items[:] = mine + [item for item in items if not _is_slow(item.path) and self._has(item.path)]

    def _has(self, path):
        number = zlib.crc32(path.name.encode())
        if self.by_framework:
            number = number % (self.processes // 2) * 2 + _is_of_tables(path)
        return number % self.processes == self.number


@cache
def _is_slow(path):
    """Whether tests of a file mostly wait, for processes that they kill: each share has its part of them."""
    return "@pytest.mark.slow" in path.read_text(encoding="utf-8")


@cache
def _is_of_tables(path):
    return _TABLE_FRAMEWORKS.search(path.read_text(encoding="utf-8")) is not None


def pytest_ignore_collect(collection_path, config):
    """Tests that import a large framework run in processes of their own, which the others need not make room for."""
    wanted = config.getoption("frameworks", "with")
    if wanted == "with" or collection_path.suffix != ".py" or collection_path.is_dir():
        return None
    imports = _FRAMEWORK.search(collection_path.read_text(encoding="utf-8")) is not None
    at_home = collection_path.name.startswith("test_")
    return (imports and at_home) == (wanted == "without") or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Whatever needs a browser has the mark `browser`, so that it can be run apart."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def pytest_collection_finish():
    """Spare the collector of garbage a million objects of modules and tests, which it would walk again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """Let what was spared be freed before extensions look for what they leaked."""
    gc.unfreeze()


class CompiledTemplates(jinja2.BytecodeCache):
    """Every page and every viewer compiles its templates anew, which took a third of the CPU of a test of pages."""

    def __init__(self):
        self.compiled = {}

    def load_bytecode(self, bucket):
        """By the text as well, which `bucket.checksum` stands for: templates of tests may share a name."""
        bucket.code = self.compiled.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket):
        self.compiled[bucket.key, bucket.checksum] = bucket.code


@pytest.fixture(scope="session", autouse=True)
def _templates_are_compiled_once():
    compiled, begin = CompiledTemplates(), jinja2.Environment.__init__

    def begin_with_compiled(self, *arguments, **options):
        begin(self, *arguments, **options)
        self.bytecode_cache = self.bytecode_cache or compiled

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jinja2.Environment, "__init__", begin_with_compiled)
        yield


@pytest.fixture(scope="session", autouse=True)
def _only_loopback():
    """A test that reaches for the network fails with the address it wanted."""
    connect, lookup = socket.socket.connect, socket.getaddrinfo

    def guarded(self, address):
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_loopback(address[0]):
            raise AssertionError(f"a test reached for {address}")
        return connect(self, address)

    def guarded_lookup(host, *rest, **more):
        if not _is_loopback(host.decode() if isinstance(host, bytes) else host):
            raise socket.gaierror(f"a test looked up {host}")
        return lookup(host, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket, "getaddrinfo", guarded_lookup)
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory):
    """What tests give to commands is not noted in the home of whoever runs them, whose keys no test finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        for name in tuple(os.environ):
            if name.endswith("_API_KEY"):
                patch.delenv(name)
        yield


@pytest.fixture
def tmp_path(tmp_path_factory, request):
    """A new folder, without pytest's search for a free name among the thousands of earlier tests."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{next(_FOLDERS)}-{name}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(autouse=True)
def _own_folder(tmp_path):
    """Every test works in a folder of its own, so that no store of another is found."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)
