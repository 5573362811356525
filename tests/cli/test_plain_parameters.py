"""Parameters that go without pydantic come out as with it, and what is wrong is refused in the same words."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
import typer.main

from steelyard.cli.plain_parameters import skip_pydantic

USAGE_ERROR = typer.BadParameter.__base__
GIVEN = [
    *(["a"], ["a", "--flag"], ["a", "--no-flag"], ["a", "--out", "x/y.txt"], ["a", "--names", "b", "--names", "c"]),
    *(
        ["a", "--count", "7"],
        ["a", "--count", "007"],
        ["a", "--share", "0.5"],
        ["a", "--kind", "one"],
        ["数据", "-n", "3"],
    ),
    *([], ["a", "--count", "x"], ["a", "--count", "0"], ["a", "--count", "-3"], ["a", "--count", "99"]),
    *(
        ["a", "--count", "1.0"],
        ["a", "--count", "1" * 40],
        ["a", "--kind", "three"],
        ["a", "--share", "x"],
        ["a", "--no"],
    ),
    *(["a", "-n", "²"], ["a", "--count", "１"]),  # digits to Python, and not all of them numbers
]


def application():
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.callback()
    def common():
        pass

    @app.command()
    def show(
        name: str,
        *,
        out: Path | None = None,
        flag: bool = False,
        names: Annotated[list[str] | None, typer.Option()] = None,
        count: Annotated[int, typer.Option(min=1, max=50)] = 5,
        share: float = 0.25,
        kind: Literal["one", "two"] = "two",
        number: Annotated[int | None, typer.Option("-n")] = None,
    ):
        return name, out, flag, names, count, share, kind, number

    return typer.main.get_command(app)


def outcome(command, words):
    """What a command returns, or the message with which it is refused."""
    try:
        return command(args=["show", *words], standalone_mode=False)
    except USAGE_ERROR as error:
        return error.format_message()


@pytest.mark.parametrize("words", GIVEN, ids=" ".join)
def test_a_plain_parameter_comes_out_as_typer_gives_it(words):
    plain = application()
    skip_pydantic(plain)
    assert repr(outcome(plain, words)) == repr(outcome(application(), words))
