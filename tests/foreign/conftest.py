"""Systems that others wrote: each stands in a virtual environment of its own and is spoken to from outside it.

`make test-foreign` makes the environments and fails where one is missing; without it their tests are skipped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.foreign.manual import steelyard as run_steelyard
from tests.store.conftest import on_server, schema, server  # noqa: F401  # fixtures

_ENVIRONMENTS = Path(__file__).resolve().parents[2] / ".venv-foreign"


@pytest.fixture(scope="session")
def foreign_bin():
    """Name of an environment -> its folder of programs (`python`, `steelyard` beside a framework, `litellm` ...)."""

    def find(name):
        folder = _ENVIRONMENTS / name / "bin"
        if not (_ENVIRONMENTS / name / ".installed").exists():
            missing = f"there is no {folder.parent}: `make test-foreign` installs it"
            if os.environ.get("STEELYARD_TEST_FOREIGN") == "required":
                pytest.fail(missing)
            pytest.skip(missing)
        return folder

    return find


class Agents:
    """A folder where agents of a framework have answered two questions, and the commands that look at them."""

    def __init__(self, program, folder, module, configuration):
        self.program, self.folder = program, folder
        (folder / "my_agents.py").write_text(module, encoding="utf-8")
        rows = ["question,answer", "How many people live in Paris?,2100000", "How many people live in Oslo?,700000"]
        (folder / "q.csv").write_text("\n".join(rows), encoding="utf-8")
        (folder / "agents.yaml").write_text(configuration, encoding="utf-8")
        self("run", "agents.yaml", "--quiet")

    def __call__(self, *arguments):
        return run_steelyard(self.program, self.folder, *arguments)

    def records(self, target):
        return json.loads(self("show", target, "--only", "all", "--json"))


@pytest.fixture(scope="module")
def agents(foreign_bin, tmp_path_factory):
    """Environment, module and configuration of some agents -> `Agents`."""

    def start(environment, module, configuration):
        return Agents(foreign_bin(environment) / "steelyard", tmp_path_factory.mktemp("agents"), module, configuration)

    return start
