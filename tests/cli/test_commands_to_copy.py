"""A command to copy stands whole on one line, however narrow the terminal is."""

import io
import re

import pytest
from rich.console import Console

from steelyard import Options, Sample, Score, ScoreInfo, Suite, evaluate_suite
from steelyard.evaluation import RunConfig
from steelyard.report.render.terminal import lines_with_command, say

STORE = "/home/somebody/a rather long/path to the/evaluations/of this year/steelyard.db"
COMMANDS = [
    f"steelyard resume k3m9xq --store '{STORE}'",
    f"steelyard compare k3m9xq v8cr9s ebkanb 7w2npd --store '{STORE}'",
    f"steelyard label k3m9xq --from '{STORE}.csv'",
    "pip install 'steelyard[xlsx,parquet,litellm]' some-other-package-of-a-long-name",
]


def printed(text, width):
    to = io.StringIO()
    say(Console(file=to, width=width, markup=False, emoji=False, highlight=False), text)
    return to.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "head", ["", "      ", "next: ", "raise options.budget, then resume with: ", "做完之后，请运行: "]
)
def test_a_command_behind_its_sentence_stands_on_one_line(head, command, width):
    lines = printed(head + command, width)
    assert [line for line in lines if line.strip().endswith(command)] == [lines[-1]]
    assert " ".join(" ".join(lines).split()) == " ".join((head + command).split())


@pytest.mark.parametrize("width", [30, 40, 80])
def test_a_command_within_a_sentence_is_not_broken_either(width):
    text = (
        "a row is damaged: `steelyard verify --json` lists what is wrong, steelyard export --salvage RUN saves the rest"
    )
    lines = printed(text, width)
    assert any("steelyard verify --json" in line for line in lines)
    assert any("steelyard export --salvage RUN" in line for line in lines)
    assert " ".join(lines) == text


def test_a_sentence_without_a_command_is_wrapped_as_before():
    lines = printed("one two three " * 20, 40)
    assert max(map(len, lines)) <= 40
    assert len(lines) > 5


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("note: the two runs differ in the prompt", ["note: the two runs", "  differ in the", "  prompt"]),
        ("- the first of many items", ["- the first of many", "  items"]),
        ("  deep: what is listed below", ["  deep: what is", "    listed below"]),
        ("  what has no label at all", ["  what has no label", "  at all"]),
        ("a sentence that has no label", ["a sentence that has", "no label"]),
        ("注意: 这里的文字没有空格所以在行末断开", ["注意:", "  这里的文字没有空格", "  所以在行末断开"]),
        ("warning: first line\nsecond line", ["warning: first line", "second line"]),
    ],
)
def test_what_belongs_to_a_label_is_wrapped_below_its_text(text, lines):
    assert printed(text, 20) == lines
    assert printed(text, 8), "in a narrow terminal no indent is wider than the text"


def test_a_word_that_is_wider_than_the_terminal_is_folded_beside_a_command():
    lines = lines_with_command(f"{'中' * 40} steelyard verify", 40)
    assert lines == ["中" * 20, "中" * 20, "steelyard verify"]


@pytest.mark.parametrize("columns", ["40", "80"])
def test_the_commands_behind_a_run_are_whole_in_the_terminal(steelyard, write, says, tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    store = tmp_path / "a folder whose name is longer than the terminal is wide, by far" / "kept.db"
    path = write({"a": says("A"), "b": says("B")}, options={"budget": {"calls": 7}, "concurrency": 1})
    stopped = steelyard("run", path, "--store", store, "--quiet", code=130).out
    assert re.search(rf"^.*steelyard resume \w{{6}} --store '{re.escape(str(store))}'$", stopped, re.MULTILINE)
    path = write({"a": says("A"), "b": says("B")})
    out = steelyard("run", path, "--store", store, "--quiet", code=0).out
    for command in ("compare a b", "view"):
        assert re.search(rf"^.*steelyard {command} --store '{re.escape(str(store))}'(  # .*)?$", out, re.MULTILINE)


def test_the_step_behind_a_run_without_a_readable_reply_lists_unreadable_ones(steelyard, write, says):
    out = steelyard("run", write({"mute": says("Who knows?")}), "--quiet", code=0).out
    assert out.splitlines()[-1].strip() == "steelyard show mute --only unparsed"
    assert "Who knows?" in steelyard("show", "mute", "--only", "unparsed", code=0).out


def test_the_step_behind_a_run_lists_as_many_as_it_calls_wrong(steelyard, write, says):
    replies = {"Question 1?": "Who knows?", "Question 2?": "I cannot answer this.", "Question 4?": "A"}
    out = steelyard("run", write({"weak": says("B", **replies)}), "--quiet", code=0).out
    *_, look, show = out.splitlines()
    assert look.endswith("# look at the 15 wrong ones of weak")
    assert show.endswith("--only wrong,unparsed,refused")
    listed = steelyard(*show.split()[1:], "--most", 50, "--json", code=0).json()
    assert len(listed) == 15
    lines = steelyard("show", "weak", "--only", "refused", code=0).out
    assert "  solve_rate: refused (" in lines


@pytest.mark.parametrize(("said", "listed"), [("Grade: 1", "wrong"), ("Grade: 5", "unparsed")])
def test_the_step_behind_a_judged_run_leaves_out_what_its_mean_leaves_out(steelyard, tmp_path, said, listed):
    class Graded:
        score_infos = (ScoreInfo("good", (0, 1), threshold=1.0, denominator="answered"),)

        def __call__(self, sample, output):
            if sample.id == "0":
                return Score("good", None, outcome="unparsed")
            return Score("good", float(said == "Grade: 5"), said == "Grade: 5")

    samples = [Sample(str(no), "?") for no in range(4)]
    suite = Suite("s", "custom", samples, {"t": lambda sample: "a"}, (Graded(),), Options())
    evaluate_suite(suite, how=RunConfig(store=tmp_path / ".steelyard" / "steelyard.db"))
    assert steelyard("show", "t", code=0).out.endswith(f"steelyard show t --only {listed}\n")


def test_the_step_behind_a_run_lists_all_where_none_is_wrong(steelyard, write, says):
    path = write({"knows": says(**{f"Question {no}?": "ABCD"[no % 4] for no in range(20)})})
    out = steelyard("run", path, "--quiet", code=0).out
    assert out.splitlines()[-1].strip() == "steelyard show knows --only all"


def test_the_step_behind_a_run_calls_ones_wrong_where_lower_is_better(steelyard, tmp_path):
    class Banned:
        score_infos = (ScoreInfo("banned", (0, 1), lower_is_better=True),)

        def __call__(self, sample, output):
            return Score("banned", float(sample.id < "2"), sample.id >= "2")

    samples = [Sample(str(no), "?") for no in range(8)]
    suite = Suite("s", "custom", samples, {"t": lambda sample: "a"}, (Banned(),), Options())
    evaluate_suite(suite, how=RunConfig(store=tmp_path / ".steelyard" / "steelyard.db"))
    assert "# look at the 2 wrong ones of t\n" in steelyard("show", "t", code=0).out


@pytest.fixture
def elsewhere(steelyard, write, says, tmp_path, once):
    """A run in another store than the default: its id, and the options that name the store."""
    store = tmp_path / "kept.db"

    def make():
        steelyard("run", write({"a": says("A")}), "--store", store, "--quiet", code=0)
        [run] = steelyard("runs", "--store", store, "--json", code=0).json()
        return run["id"]

    return once(make), ("--store", store)


MAKE = ("--title", "Right?", "--author", "ann")


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (("queue", "list"), "steelyard queue create RUN --title TEXT --author NAME --draw 50"),
        (
            ("queue", "create", "{run}", *MAKE, "--draw", "5"),
            r"steelyard queue sheet \w{6} --author NAME --out \S+",
        ),
        (("queue", "create", "{run}", *MAKE, "--draw", "5"), "steelyard view"),
        (("errors", "draw", "{run}", "--author", "ann"), "steelyard view"),
        (("review", "{run}", "--all"), "steelyard review {run} --csv sheet.csv"),
        (("review", "{run}", "--csv", "sheet.csv"), "steelyard label {run} --from sheet.csv"),
    ],
)
def test_a_suggested_command_names_the_store_in_use(steelyard, elsewhere, arguments, suggested):
    run, store = elsewhere
    out = steelyard(*[argument.format(run=run) for argument in arguments], *store, code=0).out
    assert re.search(f"{suggested.replace('{run}', run)} --store {re.escape(str(store[1]))}", out), out


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (("export",), "steelyard runs{where} lists"),
        (("history", "other.json"), "steelyard runs{where} lists"),
        (("compare", "{run}"), "(steelyard mark RUN --pin{where})"),
    ],
)
def test_an_error_names_the_store_in_use_in_the_command_that_helps(
    steelyard, elsewhere, tmp_path, monkeypatch, arguments, suggested
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    run, store = elsewhere
    err = steelyard(*[argument.format(run=run) for argument in arguments], *store, code=2).err
    assert suggested.format(where=f" --store {store[1]}") in " ".join(err.split())
