"""The example on PostgreSQL is loaded into the server of the tests and run; its two wrong answers are the only ones."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import servers
from tests.command_here import command_here

EXAMPLE = Path(__file__).parents[2] / "examples" / "text2sql" / "server"
PASSWORD = "bread-and-salt-77"


def module():
    spec = importlib.util.spec_from_file_location("load_bakery", EXAMPLE / "load.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def bakery(tmp_path, monkeypatch):
    """The example's files beside its database, under names of their own; both are gone afterwards."""
    admin = servers.connected()
    if isinstance(admin, str):
        (pytest.fail if servers.REQUIRED else pytest.skip)(f"no PostgreSQL answers: {admin}")
    with admin:
        place = f"{admin.info.host}:{admin.info.port}"
        example = module()
        monkeypatch.setattr(example, "DATABASE", f"steelyard_bakery_{os.getpid()}")
        monkeypatch.setattr(example, "READER", f"steelyard_reader_{os.getpid()}")
        example.load(servers.SERVER, PASSWORD)
        folder = tmp_path / "server"
        shutil.copytree(EXAMPLE, folder)
        text = (
            (folder / "server.yaml")
            .read_text("utf-8")
            .replace("127.0.0.1:5432/steelyard_bakery", f"{place}/{example.DATABASE}")
        )
        (folder / "server.yaml").write_text(text.replace("steelyard_reader:", f"{example.READER}:"), "utf-8")
        yield folder
        admin.execute(f"DROP DATABASE IF EXISTS {example.DATABASE} WITH (FORCE)")
        admin.execute(f"DROP ROLE IF EXISTS {example.READER}")


def test_the_example_runs_and_finds_the_two_wrong_answers(bakery, monkeypatch):
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)
    done = command_here(bakery, "run", "server.yaml", "--quiet")
    shown = command_here(bakery, "show", "latest", "--only", "wrong", "--json")
    results = {
        record["sample"]["id"]: score["passed"]
        for record in json.loads(shown.out)
        for score in record["scores"]
        if score["name"] == "result"
    }
    # The third is one of Spider's own measure alone.
    assert {name for name, passed in results.items() if not passed} == {"ada", "months"}
    assert "stored  6/8" in done.out
    checked = command_here(bakery, "check", "server.yaml")
    assert "error" not in checked.out
    assert PASSWORD not in "".join((*done, *shown, *checked))


def test_the_loader_says_how_it_is_called():
    done = subprocess.run([sys.executable, EXAMPLE / "load.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "READER_PASSWORD=... python load.py" in done.stderr
