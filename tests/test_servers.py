"""`make test` says what will be skipped for lack of a server, before it starts."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def said_before_the_tests(**variables):
    environment = {**os.environ, "STEELYARD_TEST_POSTGRES": "postgresql://nobody@127.0.0.1:1/none", **variables}
    command = [sys.executable, "-m", "tests.servers"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stderr


def test_a_missing_server_is_named_with_what_is_skipped_and_how_to_get_one():
    said = said_before_the_tests(STEELYARD_TEST_SERVERS="")
    assert "port 1 failed" in said
    assert "will be SKIPPED" in said
    assert "sh tools/servers.sh" in said


def test_where_servers_are_required_the_tests_are_said_to_fail():
    assert "will FAIL" in said_before_the_tests(STEELYARD_TEST_SERVERS="required")
