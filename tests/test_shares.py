"""Each share of the tests is run by a process of its own, and a failure of any of them is one of all."""

from tests.shares import run_shares

SHARED = """
def pytest_addoption(parser):
    parser.addoption("--share")

def pytest_generate_tests(metafunc):
    metafunc.parametrize("share", [metafunc.config.getoption("share")])
"""


def test_what_fails_in_one_share_fails_and_is_printed(tmp_path, capsys):
    (tmp_path / "conftest.py").write_text(SHARED, encoding="utf-8")
    (tmp_path / "test_it.py").write_text("def test_it(share):\n    assert share == '0/2'\n", encoding="utf-8")
    assert run_shares(2, ["-q", "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)]) == 1
    assert "assert '1/2' == '0/2'" in capsys.readouterr().out
