"""Addresses of servers, taken apart and put together as libpq does."""

from __future__ import annotations

import pytest

from steelyard.errors import ConfigError
from steelyard.store.database.address import ServerUrl, locate


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("postgresql://", {}),
        ("postgresql:///evals", {"dbname": "evals"}),
        ("postgresql://h", {"host": "h"}),
        ("postgresql://me@h:5433/evals", {"user": "me", "host": "h", "port": "5433", "dbname": "evals"}),
        ("postgresql://m%40e:p%2Fw@h:/my%20db", {"user": "m@e", "password": "p/w", "host": "h", "dbname": "my db"}),
        ("postgresql://me:a#b?c/d@h/db", {"user": "me", "password": "a#b?c/d", "host": "h", "dbname": "db"}),
        ("postgresql://me:${PW}@${HOST}/db", {"user": "me", "password": "${PW}", "host": "${HOST}", "dbname": "db"}),
        ("postgresql://[fe80::1]:5/db", {"host": "fe80::1", "port": "5", "dbname": "db"}),
        ("postgresql:///db?host=%2Ftmp&sslmode=require", {"dbname": "db", "host": "/tmp", "sslmode": "require"}),
        ("postgresql:///db?host=a,b&port=1,2", {"dbname": "db", "host": "a,b", "port": "1,2"}),
    ],
)
def test_an_address_gives_the_settings_of_libpq(text, settings):
    parsed = ServerUrl.parse(text)
    assert parsed.libpq() == settings
    assert ServerUrl.parse(parsed.complete) == parsed


@pytest.mark.parametrize(
    "text", ["", "h/db", "postgresql:h", "postgresql://h:port/db", "postgresql:///d?host=a&host=b"]
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match=r"not the address|given twice"):
        ServerUrl.parse(text)


def test_a_password_is_written_only_where_it_is_asked_for():
    parsed = ServerUrl.parse("postgresql://me:geheim@h/db?sslpassword=geheim")
    assert parsed.complete == "postgresql://me:geheim@h/db?sslpassword=geheim"
    assert parsed.without_password == "postgresql://me@h/db?sslpassword=geheim"
    assert "geheim" not in repr(parsed)


@pytest.mark.parametrize(
    "text",
    ["host=h password=geheim dbname=d", "password = 'geheim'", "postgresql:/me:geheim@h/db", "postgres:me:geheim"],
)
def test_an_address_in_another_form_is_no_name_of_a_file_and_is_not_quoted(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="has another form") as caught:
        locate(text)
    assert "geheim" not in str(caught.value)
    (tmp_path / "user=1.db").touch()
    assert locate("user=1.db") == tmp_path / "user=1.db"
