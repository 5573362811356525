"""Each share of the tests is run by a process of its own, and a failure of any of them is one of all."""

from tests.shares import run_shares

SHARED = """
def pytest_addoption(parser):
    parser.addoption("--share")

def pytest_generate_tests(metafunc):
    metafunc.parametrize("share", [metafunc.config.getoption("share")])
"""


SHARES_THAT_FAIL = """
import os
import signal

def test_it(share):
    if share == "2/3":
        os.kill(os.getpid(), signal.SIGKILL)
    assert share == "0/3"
"""


def test_what_fails_in_one_share_fails_and_is_printed(tmp_path, capsys):
    (tmp_path / "conftest.py").write_text(SHARED, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(SHARES_THAT_FAIL, encoding="utf-8")
    arguments = ["-q", "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)]
    assert run_shares(3, arguments) == 9
    out = capsys.readouterr().out
    assert "assert '1/3' == '0/3'" in out
    assert [line.rpartition(" ")[2] for line in out.splitlines() if line.startswith("exit code ")] == ["1/3", "2/3"]
    assert run_shares(1, [*arguments, "-k", "nothing"]) == 5
