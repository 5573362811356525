"""A function by its import path: found before the run, with a message that says what is wrong."""

import pytest

from steelyard import ConfigError, ExactMatch, Sample, evaluate
from steelyard.building.import_paths import find_function
from steelyard.constraints import check_options
from steelyard.registry import describe
from steelyard.targets.adapters import Function


@pytest.fixture(autouse=True)
def _fresh(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    find_function.cache_clear()


def write(tmp_path, name, text):
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")


def test_a_function_of_the_current_folder_is_run(tmp_path):
    write(tmp_path, "here_one", "def answer(sample):\n    return sample.input.upper()\n")
    target = Function("here_one:answer")
    check_options(target)
    run = evaluate(target, [Sample("1", "a", "A")], [ExactMatch()])
    assert [one.output.value for one in run.records()] == ["A"]
    assert describe(target) == {"function": {"function": "here_one:answer"}}


def test_an_async_function_and_a_method_are_found_too(tmp_path):
    write(
        tmp_path,
        "here_two",
        "class App:\n    async def answer(self, sample):\n        return 'A'\n    __call__ = answer\napp = App()\n",
    )
    for path in ("here_two:app.answer", "here_two:app"):
        run = evaluate(Function(path), [Sample("1", "a", "A")], [ExactMatch()])
        assert [one.failure for one in run.records()] == [None]


@pytest.mark.parametrize(
    ("path", "text", "said_so"),
    [
        ("nothing", "", "is not an import path: write package.module:name"),
        (":name", "", "is not an import path"),
        ("no_such_module:f", "", "No module named 'no_such_module'"),
        ("here_three:other", "def answer(sample): ...", "no attribute 'other'"),
        ("here_four:VALUE", "VALUE = 3", "is a int, not a function"),
        ("here_five:f", "def f(:", "SyntaxError"),
    ],
)
def test_what_cannot_be_called_is_told_before_anything_is_run(tmp_path, path, text, said_so):
    if text:
        write(tmp_path, path.partition(":")[0], text)
    with pytest.raises(ConfigError, match=said_so):
        check_options(Function(path))


def test_a_module_is_read_by_a_check_and_imported_by_a_run_alone(tmp_path):
    write(tmp_path, "here_six", "raise RuntimeError('at import')\ndef answer(sample): ...\n")
    check_options(Function("here_six:answer"))
    with pytest.raises(ConfigError, match="RuntimeError: at import"):
        evaluate(Function("here_six:answer"), [Sample("1", "a", "A")], [ExactMatch()])


@pytest.mark.parametrize(
    "text",
    [
        "if True:\n    def f(sample): ...\n",
        "try:\n    from json import dumps as f\nexcept ImportError:\n    f = None\n",
        "from json import *\n",
        "def __getattr__(name): return print\n",
        "globals()['f'] = print\n",
        "f, g = print, print\n",
        "import json.decoder as f\n",
    ],
)
def test_a_name_that_may_be_there_is_not_refused(tmp_path, text):
    write(tmp_path, "here_seven", text)
    check_options(Function("here_seven:f"))


def test_a_module_of_a_package_is_found_without_importing_the_package(tmp_path):
    (tmp_path / "here_pack").mkdir()
    (tmp_path / "here_pack" / "__init__.py").write_text("raise SystemExit('imported')\n", "utf-8")
    (tmp_path / "here_pack" / "inner.py").write_text("async def f(sample, ask): ...\n", "utf-8")
    check_options(Function("here_pack.inner:f"))
    assert Function("here_pack.inner:f").may_ask
    with pytest.raises(ConfigError, match=r"No module named 'here_pack\.outer'"):
        check_options(Function("here_pack.outer:f"))
