"""A function by its import path: found before the run, with a message that says what is wrong."""

import pytest

from steelyard import ConfigError, ExactMatch, Sample, evaluate
from steelyard.registry import describe
from steelyard.targets.function import Function, _find


@pytest.fixture(autouse=True)
def _fresh(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    _find.cache_clear()


def write(tmp_path, name, text):
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")


def test_a_function_of_the_current_folder_is_run(tmp_path):
    write(tmp_path, "here_one", "def answer(sample):\n    return sample.input.upper()\n")
    target = Function("here_one:answer")
    target.check()
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
        ("nothing", "", "is no import path: write package.module:name"),
        (":name", "", "is no import path"),
        ("no_such_module:f", "", "No module named 'no_such_module'"),
        ("here_three:other", "def answer(sample): ...", "no attribute 'other'"),
        ("here_four:VALUE", "VALUE = 3", "is a int, not a function"),
        ("here_five:f", "def f(:", "SyntaxError"),
        ("here_six:f", "raise RuntimeError('at import')", "RuntimeError: at import"),
    ],
)
def test_what_cannot_be_called_is_told_before_anything_is_run(tmp_path, path, text, said_so):
    if text:
        write(tmp_path, path.partition(":")[0], text)
    with pytest.raises(ConfigError, match=said_so):
        Function(path).check()
