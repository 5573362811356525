"""`verify` and `delete` as they are typed."""

import json

import pytest
from tests.store.outside import execute

from steelyard import ExactMatch, Sample, Store, evaluate
from steelyard.cli.app import run_app


@pytest.fixture
def typed(capsys):
    """Runs a command; (exit code, standard output, standard error)."""

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            run_app(arguments)
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return run


@pytest.fixture
def runs():
    samples = [Sample(f"q{n}", "?", "A") for n in range(30)]
    return [evaluate(lambda sample: "A", samples, [ExactMatch()]) for _ in range(2)]


def test_a_store_without_damage_is_reported_with_what_was_checked(typed, runs):
    code, out, _ = typed("verify")
    assert code == 0
    assert out.startswith("no damage found in")
    assert "2 runs, 60 records" in out.replace("\n", " ")
    code, out, _ = typed("verify", runs[0].id, "--json")
    assert code == 0
    assert json.loads(out)["looked_at"]["records"] == 30


def test_a_damaged_store_is_told_place_by_place_up_to_twenty_and_exits_with_4(typed, runs):
    execute(None, "UPDATE sample SET group_name = 'x'")
    code, out, _ = typed("verify")
    assert code == 4
    assert "DAMAGED" in out
    assert "and 10 more" in out
    assert out.count("does not match its hash") == 20
    code, out, _ = typed("verify", "--json")
    found = json.loads(out)
    assert (code, found["sound"], found["found"]) == (4, False, 30)
    assert found["damages"][-1]["sample"] == "q29"


def test_delete_tells_what_goes_and_takes_no_answer_for_no(typed, runs, monkeypatch):
    code, out, err = typed("delete", runs[0].id)
    assert code == 2
    assert "deletes 30 records, 30 scores\n" in out
    assert "--yes deletes without asking" in err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text: False)
    assert typed("delete", runs[0].id)[0] == 130
    assert len(Store().runs()) == 2


def test_delete_yes_deletes_each_named_run_once(typed, runs):
    code, out, _ = typed("delete", runs[0].id, runs[0].id, "--yes", "--json")
    assert code == 0
    assert json.loads(out)["deleted"] == [runs[0].id]
    assert [run.id for run in Store().runs()] == [runs[1].id]
    assert typed("delete", "latest", "--yes")[0] == 0
    assert Store().runs() == []


def test_old_runs_are_deleted_by_their_age(typed, runs):
    execute(None, f"UPDATE run SET created = created - 864000 WHERE id = '{runs[0].id}'")
    assert "no run is that old" in typed("delete", "--older-than", "30", "--yes")[1]
    assert typed("delete", "--older-than", "9", "--yes")[0] == 0
    assert [run.id for run in Store().runs()] == [runs[1].id]


def test_an_age_beyond_the_calendar_is_a_mistake_of_the_user(typed, runs):
    assert typed("delete", "--older-than", "9999999999", "--yes")[0] == 2
    assert len(Store().runs()) == 2


@pytest.mark.parametrize("given", [[], ["latest", "--older-than", "3"]])
def test_runs_are_named_or_old_and_not_both(typed, runs, given):
    code, _, err = typed("delete", "--yes", *given)
    assert code == 2
    assert "name the runs to delete, or give --older-than DAYS" in err


def test_a_password_that_is_typed_is_warned_of_and_never_shown(typed):
    address = "postgresql://me:geheim@127.0.0.1:1/db"
    code, out, err = typed("runs", "--store", address)
    assert code == 4
    assert "can read the password in --store" in err
    assert "postgresql://me@127.0.0.1:1/db" in err
    assert "geheim" not in out + err
    assert "can read" not in typed("runs", "--store", "postgresql://me@127.0.0.1:1/db")[2]
