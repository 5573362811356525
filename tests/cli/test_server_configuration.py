"""`init --suite text2sql --server` on the real servers of the tests: what it writes, and what it never shows."""

import json
import os

import pytest
import typer
from tests.sql import server_ground
from tests.sql.server_ground import PASSWORD
from typer.testing import CliRunner

from steelyard.cli import config_commands
from steelyard.config.load import load
from steelyard.errors import ConfigError

_ENGINES = {"postgres": server_ground.postgres, "mysql": server_ground.mysql}


@pytest.fixture(scope="module", params=sorted(_ENGINES))
def ground(request):
    with _ENGINES[request.param]() as made:
        yield made


@pytest.fixture
def init(tmp_path, monkeypatch):
    monkeypatch.setenv("READER", PASSWORD)
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command("init")(config_commands.init)

    def run(server, *options, suite="text2sql"):
        arguments = [str(tmp_path / "new"), "--suite", suite, "--server", server, *options]
        done = CliRunner().invoke(app, arguments, standalone_mode=False)
        assert PASSWORD not in done.output + str(done.exception)
        return done

    return run


def test_a_configuration_is_written_from_the_catalogue_and_loads(ground, init, tmp_path):
    done = init(ground.url)
    assert done.exception is None
    written = (tmp_path / "new" / "text2sql.yaml").read_text("utf-8")
    assert "${READER}" in written
    assert PASSWORD not in written
    name = ground.database.server.database
    assert f"#     {name}: teams (id, title)" in written
    suite = load(tmp_path / "new" / "text2sql.yaml", environ=dict(os.environ)).suite
    samples = {sample.id: sample for sample in suite.samples}
    assert set(samples) == {f"{name}.{table}" for table in ("paid", "staff", "teams")}
    assert samples[f"{name}.teams"].input == "How many rows does the table teams have?"
    assert "title" in samples[f"{name}.teams"].metadata["schema"]
    assert list(suite.targets) == ["rules"]
    assert ".env" in (tmp_path / "new" / ".gitignore").read_text("utf-8")


def test_models_of_an_endpoint_become_targets_and_comments_may_be_chinese(ground, init, tmp_path):
    options = ("--model", "small", "--endpoint", "http://127.0.0.1:1/v1", "--language", "zh")
    assert init(ground.url, *options).exception is None
    suite = load(tmp_path / "new" / "text2sql.yaml", environ=dict(os.environ)).suite
    assert list(suite.targets) == ["rules", "small"]
    first = json.loads((tmp_path / "new" / "questions.jsonl").read_text("utf-8").splitlines()[0])
    assert first["question"] == "表 paid 有多少行？"


def test_a_password_may_stand_in_the_env_file_of_the_folder(ground, init, tmp_path, monkeypatch):
    monkeypatch.delenv("READER")
    assert "${READER} has no value" in str(init(ground.url).exception)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".env").write_text(f"READER={PASSWORD}\n")
    assert init(ground.url).exception is None


def test_a_wrong_password_is_an_error_that_does_not_show_it(ground, init, tmp_path, monkeypatch):
    monkeypatch.setenv("READER", "wrong-pass-771")
    done = init(ground.url)
    if done.exception is None:
        pytest.skip("this server trusts every connection")
    assert isinstance(done.exception, ConfigError)
    assert "no connection as" in str(done.exception)
    assert "wrong-pass-771" not in str(done.exception) + done.output
    assert not (tmp_path / "new").exists()


def test_an_unreachable_server_is_named_and_nothing_is_written(init, tmp_path):
    done = init("postgresql://me:${READER}@127.0.0.1:1/shop")
    assert isinstance(done.exception, ConfigError)
    assert "no connection as me at 127.0.0.1:1" in str(done.exception)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (f"postgresql://me:{PASSWORD}@127.0.0.1/shop", "a password is not written out"),
        (f"mssql://me:{PASSWORD}@127.0.0.1/shop", "expected the address of a PostgreSQL or MySQL server"),
        ("postgresql://127.0.0.1/shop", "the address names no user"),
    ],
)
def test_a_bad_address_is_refused_without_showing_it(init, url, why):
    assert why in str(init(url).exception)


def test_a_role_that_may_write_is_refused(ground, init):
    login = ground.database.server
    role = login.url.partition("://")[2].partition(":")[0]
    grants = {
        "postgres": (f"GRANT INSERT ON teams TO {role}", f"REVOKE INSERT ON teams FROM {role}"),
        "mysql": (
            f"GRANT INSERT ON {login.database}.* TO '{role}'@'%'",
            f"REVOKE INSERT ON {login.database}.* FROM '{role}'@'%'",
        ),
    }
    grant, revoke = grants[login.engine]
    ground.run(grant)
    try:
        assert "may do more than read" in str(init(ground.url).exception)
    finally:
        ground.run(revoke)


def test_a_server_belongs_to_the_suite_text2sql(init):
    assert "--server belongs to --suite text2sql" in str(init("postgresql://a@b/c", suite="choice").exception)


def test_existing_files_are_not_changed(ground, init, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "questions.jsonl").write_text("mine")
    assert "questions.jsonl already; nothing was written" in str(init(ground.url).exception)
    assert (tmp_path / "new" / "questions.jsonl").read_text() == "mine"
