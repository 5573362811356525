"""`steelyard store upgrade` on the store that version 0.1.0 wrote: what was read and resumed before still is."""

import json

import pytest
from tests.cli.test_older_versions import RUNS, headlines, written  # noqa: F401  # a fixture
from tests.store.outside import as_older, execute

from steelyard.store import Store
from steelyard.store.migrations import MIGRATIONS


@pytest.fixture
def upgraded(steelyard, written):  # noqa: F811  # the fixture
    steelyard("store", "upgrade", "--store", written, code=0)
    return written


def unfolded(text):
    """A text without its spaces and line breaks: a long path is broken where the line ends."""
    return "".join(text.split())


def test_it_names_the_copy_and_every_migration(steelyard, written):  # noqa: F811  # the fixture
    out = steelyard("store", "upgrade", "--store", written, code=0).out
    copy = written.with_name("store.before-upgrade.db")
    assert unfolded(out) == unfolded(
        f"copy of the store before the upgrade: {copy}"
        "migration 2: create the tables that were added since the first version"
        "migration 3: add checksums to finished runs that were begun before there were any"
        "migration 4: create the table with the kinds and scales of labels"
        "migration 5: create the table with the marks of runs"
        "migration 6: create the tables with what is shown of running runs"
        "migration 7: create the tables of queues"
        "migration 8: create the table with drafts of datasets"
        "migration 9: create the tables of error analysis"
        "migration 10: create the table with tokens from the caches of endpoints"
        "migration 11: create the table with what was computed of runs"
        "migration 12: create the table with replies that were read again under another response mapping"
        f"{written} is upgraded"
    )
    with Store(copy) as store:
        assert {run.id for run in store.runs()} == set(RUNS)


def test_a_store_that_is_up_to_date_is_left_alone(steelyard, upgraded):
    before = upgraded.read_bytes()
    again = steelyard("store", "upgrade", "--store", upgraded, code=0)
    assert unfolded(again.out) == unfolded(f"{upgraded} is up to date")
    assert upgraded.read_bytes() == before
    shown = steelyard("store", "upgrade", "--store", upgraded, "--json", code=0).json()
    assert shown == {"store": str(upgraded), "applied": [], "copy": None}


def test_without_a_copy_there_is_none(steelyard, written):  # noqa: F811  # the fixture
    shown = steelyard("store", "upgrade", "--no-copy", "--json", "--store", written, code=0).json()
    assert shown["copy"] is None
    assert [migration["number"] for migration in shown["applied"]] == [migration.number for migration in MIGRATIONS]
    assert not list(written.parent.glob("*before-upgrade*"))


def test_every_score_is_what_it_was(steelyard, upgraded):
    listed = steelyard("runs", "--store", upgraded, "--json", code=0).json()
    assert {run["id"]: [run["target"], run["state"], run["done"]] for run in listed} == {
        run: [expected["target"], expected["state"], expected["done"]] for run, expected in RUNS.items()
    }
    for run, expected in RUNS.items():
        shown = headlines(steelyard("show", run, "--store", upgraded, "--json", code=0).json())
        for name, (value, scored, unparsed) in expected["scores"].items():
            assert shown[name] == [pytest.approx(value), scored, unparsed], (run, name)
    steelyard("verify", "--store", upgraded, code=0)


def test_an_interrupted_run_is_resumed_and_pays_for_nothing_twice(steelyard, upgraded, tmp_path):
    config = tmp_path / "judged.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("calls = 12", "calls = 20"), encoding="utf-8")
    steelyard("resume", "qmk4uw", "--config", config, "--store", upgraded, "-q", "--allow-changed", code=0)
    shown = steelyard("show", "qmk4uw", "--store", upgraded, "--json").json()
    assert [shown["state"], shown["done"]] == ["finished", 10]
    assert headlines(shown)["correctness"] == [4.0, 10, 0]


def test_a_newer_store_is_refused_and_a_missing_one_too(steelyard, written, tmp_path):  # noqa: F811  # the fixture
    execute(written, "UPDATE about SET value = '99' WHERE name = 'schema'")
    before = written.read_bytes()
    assert "has schema 99, this version reads 1" in steelyard("store", "upgrade", "--store", written, code=4).err
    assert written.read_bytes() == before
    assert "there is no store" in steelyard("store", "upgrade", "--store", tmp_path / "no.db", code=2).err


def test_what_else_a_store_cannot_do_is_a_mistake_of_usage(steelyard, written):  # noqa: F811  # the fixture
    assert "downgrade" in steelyard("store", "downgrade", "--store", written, code=2).err


def test_a_run_without_checksums_gets_them(steelyard, written):  # noqa: F811  # the fixture
    as_older(written, "seal", "framework_usage")
    looked_at = json.loads(steelyard("verify", "--store", written, "--json", code=0).out)["looked_at"]
    assert looked_at["runs without a checksum"] == len(RUNS)
    steelyard("store", "upgrade", "--store", written, code=0)
    looked_at = json.loads(steelyard("verify", "--store", written, "--json", code=0).out)["looked_at"]
    assert looked_at["runs without a checksum"] == 1, "the interrupted one"
