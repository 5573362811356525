"""runs, show and compare as a person and as a program read them."""

import io
import json
import re
import shutil
from types import SimpleNamespace

import pytest
from rich.console import Console

from steelyard import Options, Sample, Suite, evaluate_suite
from steelyard.cli.read_commands import _state, print_runs
from steelyard.evaluation.evaluate import RunConfig
from steelyard.report.render.terminal import print_sections
from steelyard.report.section import Section, Sentence
from steelyard.store import Store


@pytest.fixture
def interrupted(steelyard, write, says, once):
    """A run of 20 of which 7 are done."""
    options = {"budget": {"calls": 7}, "concurrency": 1}
    once(lambda: steelyard("run", write({"half": says("A")}, options=options), code=130))


def test_runs_lists_the_newest_first_and_says_how_many_more_there_are(steelyard, write, says):
    path = write({"a": says("A"), "b": says("B")})
    steelyard("run", path, code=0)
    out = steelyard("runs", "--last", "1", code=0).out
    assert out.splitlines()[1].split()[-8:] == ["b", "finished", "20/20", "0", "Solve", "rate", "25.0", "%"]
    assert "and 1 older ones: --last 2 shows all" in out
    newest, oldest = steelyard("runs", "--json", code=0).json()
    assert (newest["target"], oldest["target"]) == ("b", "a")
    assert (newest["figures"]["score"], newest["figures"]["value"]) == ("solve_rate", 0.25)


def test_runs_counts_unreadable_replies_beside_the_score(steelyard, write, says, interrupted):
    steelyard("run", write({"mute": says("Who knows?")}), code=0)
    head, mute, half, *_ = steelyard("runs", code=0).out.splitlines()
    assert head.split()[-2:] == ["score", "unreadable"]
    assert mute.split()[-4:] == ["rate", "0.0", "%", "20"]
    refused = {"Question 1?": "I cannot answer this.", "Question 2?": "I cannot answer this."}
    steelyard("run", write({"polite": says("A", **refused)}), code=0)
    head, polite, *_ = steelyard("runs", "--last", 1, code=0).out.splitlines()
    assert head.split()[-2:] == ["score", "refused"]
    assert polite.split()[-2:] == ["%", "2"]
    assert "state" in steelyard("runs", code=0).out.splitlines()[0].split(), "one of them is interrupted"
    assert half.split()[-5:] == ["Solve", "rate", "28.6", "%", "0"]


@pytest.fixture
def listed(tmp_path):
    """Lines of the list of runs on a terminal of some width; the runs have long names and large counts."""

    def answer(sample):
        return "yes"

    suite = Suite(
        "An examination of trade law", "custom", [Sample("s", "?")],
        {f"a-target-with-a-very-long-name-{n}": answer for n in range(2)}, (), Options(),
    )  # fmt: skip
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))

    def lines(width):
        out = io.StringIO()
        with Store(tmp_path / "s.db") as store:
            runs = store.runs()
            for run in runs:
                run.planned, run.done, run.errors = 1_000_000, 123_456, 65_432
            print_runs(Console(file=out, width=width, markup=False, highlight=False), runs, {})
        return out.getvalue().splitlines()

    return lines


@pytest.mark.parametrize("width", [200, 80, 60, 50, 40])
def test_runs_cuts_no_number_and_names_the_columns_that_have_no_room(listed, width):
    lines = listed(width)
    assert max(map(len, lines)) <= width
    assert sum("123456/1000000" in line for line in lines) == 2
    every = ["run", "started (UTC)", "suite", "target", "state", "done", "errors", "score"]
    missing = [name for name in every if name not in lines[0]]
    said = " ".join(" ".join(lines).split()).partition("no room for: ")[2].partition(";")[0]
    assert said == ", ".join(missing)
    assert bool(missing) == (width < 100)


def test_runs_tells_what_was_stopped_early_from_what_was_interrupted():
    assert _state(SimpleNamespace(state="finished", done=25, planned=60)) == "stopped early"
    assert _state(SimpleNamespace(state="finished", done=60, planned=60)) == "finished"
    assert _state(SimpleNamespace(state="interrupted", done=25, planned=60)) == "interrupted"


def test_an_empty_store_is_said_to_be_empty(steelyard, tmp_path):
    from steelyard.store import Store

    Store(tmp_path / "empty.db", create_missing=True).close()
    assert steelyard("runs", "--store", "empty.db", "--json", code=0).json() == []
    assert "the store holds no runs" in steelyard("show", "latest", "--store", "empty.db", code=2).err
    assert "the store holds no runs" in steelyard("resume", "--store", "empty.db", code=2).err


def test_show_breaks_a_run_down_by_category(steelyard, write, says):
    steelyard("run", write({"a": says("A")}), code=0)
    lines = steelyard("show", "a", code=0).out.splitlines()
    assert [line.split()[:4] for line in lines if line.startswith("group")] == [
        ["group", "0", "50.0", "%"],
        ["group", "1", "0.0", "%"],
    ]


def test_show_lists_samples_of_a_kind_with_the_right_option_marked(steelyard, write, says):
    steelyard("run", write({"a": says("A", **{"Question 1?": "", "Question 2?": "I cannot answer this."})}), code=0)
    wrong = steelyard("show", "a", "--only", "wrong", "-n", "1", code=0).out
    assert "Question 3?" in wrong
    assert " *D. four" in wrong
    assert "  reply: A" in wrong
    unread = steelyard("show", "a", "--only", "unparsed", code=0).out
    assert "Question 1?" in unread
    assert "reply: (empty)" in unread
    assert "Question 2?" in steelyard("show", "a", "--only", "refused", code=0).out
    assert "is errors" in steelyard("show", "a", "--only", "errors", code=0).out
    assert len(steelyard("show", "a", "--only", "all", "-n", "50", "--json", code=0).json()) == 20
    listed = {}
    for kinds in ("wrong", "unparsed", "refused", "wrong,unparsed", "unparsed, refused"):
        rows = steelyard("show", "a", "--only", kinds, "-n", "50", "--json", code=0).json()
        listed[kinds] = {row["sample"]["id"] for row in rows}
    assert listed["wrong,unparsed"] == listed["wrong"] | listed["unparsed"] != listed["wrong"]
    assert listed["unparsed, refused"] == listed["unparsed"] | listed["refused"]
    assert "'worng': did you mean 'wrong'?" in steelyard("show", "a", "--only", "unparsed,worng", code=2).err
    assert "--only takes one kind" in steelyard("show", "a", "--only", "wrong,refused", "--sort", "id", code=2).err


def test_what_a_model_wrote_cannot_act_on_the_terminal(steelyard, write, says):
    evil = "\x1b[31mred\x1b[0m \u202etxt.exe\u202c [bold]B[/bold]\r\nrun  faked  100.0 %"
    path = write({"a": says(evil)}, name="exam.json")
    with open("exam.csv", "a", encoding="utf-8") as rows:  # noqa: PTH123  # it stands in the test's own folder
        rows.write("\nWhich \x1b[2J\u202eone?,one,two,three,four,A,group \u2066x\n")
    steelyard("run", path, code=0)
    for command in (["runs"], ["show", "latest"], ["show", "latest", "--only", "all", "-n", "30"]):
        out = steelyard(*command, code=0).out
        assert not set(out) & {"\x1b", "\u202e", "\u202c", "\u2066", "\r"}
        assert not [line for line in out.splitlines() if line.startswith("run  faked")]
    assert "\\x1b[31mred\\x1b[0m \\u202etxt.exe\\u202c [bold]B[/bold]" in out


def test_conclusions_are_coloured_on_a_terminal_unless_the_user_wants_none(monkeypatch):
    sections = [
        Section("", notes=(Sentence(text, "conclusion", tone=tone),))
        for text, tone in (("improved", "good"), ("broke it", "bad"), ("who knows", "unclear"), ("said", ""))
    ]

    def printed():
        out = io.StringIO()
        print_sections(Console(file=out, force_terminal=True, color_system="standard", width=80), sections)
        return out.getvalue().splitlines()

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert printed() == [
        "\x1b[32mimproved\x1b[0m", "\x1b[31mbroke it\x1b[0m", "\x1b[33mwho knows\x1b[0m", "said",
    ]  # fmt: skip
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed() == ["improved", "broke it", "who knows", "said"]


def test_no_colour_is_printed_where_there_is_no_terminal(steelyard, write, says):
    steelyard("run", write({"a": says(), "b": says("B")}), code=0)
    assert "\x1b" not in steelyard("compare", "a", "b", code=0).out


def test_an_unfinished_run_says_so_everywhere_with_counts(steelyard, write, says, interrupted):
    write({"whole": says("B")}, name="whole.json")
    steelyard("run", "whole.json", code=0)
    assert re.search(r"interrupted +7/20", steelyard("runs", code=0).out)
    assert "warning: Not complete: half: this run was interrupted" in steelyard("show", "half", code=0).out
    assert "resume with: steelyard resume" in steelyard("show", "half", code=0).out
    listed = steelyard("show", "half", "--only", "wrong", "--json", code=0)
    assert len(listed.json()) == 5
    assert listed.err == "half: interrupted, 7 of 20 done\n"
    compared = " ".join(steelyard("compare", "whole", "half", code=0).out.split())
    assert "this run was interrupted: 7 of 20 records done" in compared
    assert "half is interrupted: 7 of 20 records are done." in compared
    assert steelyard("export", "half", code=0).err == "half: interrupted, 7 of 20 done\n"
    found = steelyard("show", "half", "--json", code=0).json()
    assert (found["state"], found["done"], found["planned"]) == ("interrupted", 7, 20)
    steelyard("report", "half", "--html", "r.html", "--markdown", "r.md", code=0)
    for name in ("r.html", "r.md"):
        with open(name, encoding="utf-8") as file:  # noqa: PTH123  # both stand in the test's own folder
            assert "7 of 20" in file.read()


def test_compare_shows_the_cells_the_categories_and_who_answered(steelyard, write, says):
    path = write({"a": says("A", **{"Question 4?": ""}), "b": says("B")})
    steelyard("run", path, code=0)
    out = steelyard("compare", "a", "b", "--full", code=0).out
    assert "regressions 4, improvements 5, both right 0, both wrong 11" in out
    (both,) = [line.split() for line in out.splitlines() if line.startswith("answered by both")]
    assert both[3:7] == ["21.1", "%", "26.3", "%"]
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("group")] == [
        ["group", "0"],
        ["group", "1"],
    ]
    found = steelyard("compare", "a", "b", "--json", code=0).json()
    assert found["comparison"]["pairs"][0]["headline"]["table"]["improved"] == 5


def test_a_run_is_named_by_id_beginning_target_or_latest(steelyard, write, says):
    steelyard("run", write({"a": says()}), code=0)
    ident = steelyard("runs", "--json", code=0).json()[0]["id"]
    for name in (ident, ident[:4], "a", "latest"):
        assert steelyard("show", name, "--json", code=0).json()["run"] == ident


RAG = {
    "suite": "rag",
    "samples": {"file": "questions.json"},
    "targets": {"old": {"replay": "said.jsonl"}},
    "scorers": ["token_f1", "retrieval"],
}


@pytest.fixture
def answered(steelyard, tmp_path, monkeypatch, once):
    """One stored answer with two passages, of which the second holds the source."""
    monkeypatch.chdir(tmp_path)
    row = {"id": "a", "question": "How high?", "answer": "two old houses", "document": "x.pdf", "source": "It is high."}
    sources = [{"document": "x.pdf", "page": 3}, {"document": "y.pdf"}]
    said = {"id": "a", "output": "two houses", "contexts": ["It is old.", "It is high."], "sources": sources}

    def make():
        for name, value in (("questions.json", [row]), ("said.jsonl", said), ("rag.json", RAG)):
            (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
        steelyard("run", "rag.json", code=0)

    once(make)


def test_scores_with_one_reason_share_a_line_and_passages_say_where_they_stand(steelyard, answered):
    lines = steelyard("show", "old", "--only", "all", code=0).out.splitlines()
    assert lines[3:5] == [
        "  retrieved: 2 passages, x.pdf p. 3; y.pdf",
        "  token_f1: 0.8 (precision 1.00, recall 0.67)",
    ]
    assert "hit_rate: 1; mrr: 0.5; precision: 0.5; recall: 1;" in lines[5]
    assert len(lines) == 8  # the six scores of one reason, folded at 80 columns


def test_a_sample_by_itself_is_shown_with_its_passages_and_which_were_expected(steelyard, answered):
    text = " ".join(steelyard("show", "old", "a", code=0).out.split())
    assert "1. x.pdf, page 3: It is old. 2. y.pdf; expected, by words: It is high." in text
    assert "It is old." not in steelyard("show", "old", "--only", "all", code=0).out


def test_that_no_sample_is_wrong_is_said_with_the_scores_that_could_have_said_so(steelyard, answered, tmp_path):
    out = steelyard("show", "old", "--only", "wrong", code=0).out
    assert "is wrong; only hit_rate can be right or wrong" in out
    (tmp_path / "rag.json").write_text(json.dumps({**RAG, "scorers": ["token_f1"]}), encoding="utf-8")
    steelyard("run", "rag.json", code=0)
    assert "none of its scores can be right" in steelyard("show", "old", "--only", "wrong", code=0).out


def test_a_run_without_a_score_says_that_nothing_was_scored(steelyard, tmp_path):
    (tmp_path / "rows.csv").write_text("input,expected\na,b\n", encoding="utf-8")
    endpoint = {"base_url": "http://127.0.0.1:9/v1"}
    content = {"samples": "rows.csv", "models": ["m"], "endpoint": endpoint, "options": {"retry": {"attempts": 1}}}
    (tmp_path / "c.json").write_text(json.dumps(content), encoding="utf-8")
    steelyard("run", "c.json", code=4)
    assert "is wrong: none was scored" in " ".join(steelyard("show", "m", "--only", "wrong", code=0).out.split())


def test_how_a_judge_came_to_its_rating_stands_beside_it(steelyard, answered, tmp_path):
    scorer = {"g_eval": {"name": "fluency", "criteria": "It reads well.", "steps": ["Read."]}}
    judge = {"model": {"scripted": {"default": "4"}}, "repeats": 2}
    (tmp_path / "rag.json").write_text(json.dumps({**RAG, "judge": judge, "scorers": [scorer]}), encoding="utf-8")
    steelyard("run", "rag.json", code=0)
    out = " ".join(steelyard("show", "old", "--only", "all", code=0).out.split())
    assert "fluency: 4, single rating, the endpoint gave no token probabilities, flip rate 0" in out


def test_a_name_that_suites_share_is_refused_with_the_list_by_every_command(steelyard, write, says, tmp_path):
    shutil.copy(write({"glm": says("A")}).parent / "exam.csv", tmp_path / "law.csv")
    for suite in ("law", "exam"):
        samples = {"file": f"{suite}.csv"}
        config = write({"glm": says("A"), "kb": says("B")}, name=f"{suite}.json", samples=samples)
        steelyard("run", config, "--quiet", code=0)
    for command in (
        ["show", "glm"], ["compare", "glm", "kb"], ["report", "glm"], ["export", "glm"], ["rescore", "glm"],
        ["review", "glm"], ["note", "glm", "why"], ["baseline", "glm"], ["verify", "glm"], ["delete", "glm", "--yes"],
        ["collect", "glm", "--to", "t.jsonl"], ["label", "glm", "--from", "x.csv"],
        ["export", "glm", "kb", "--json-dir", "out"], ["resume", "glm"],
        ["run", "law.json", "--only", "wrong", "--from", "glm"],
    ):  # fmt: skip
        refused = steelyard(*command, code=2)
        assert "'glm' is a target of 2 suites; which run is meant?" in refused.err, command
        assert "law/glm" in refused.err
        assert "exam/glm" in refused.err
        assert not refused.out, command
    assert len(steelyard("runs", "--json").json()) == 4
    assert steelyard("show", "law/glm", "--json", code=0).json()["suite"] == "law"
    compared = steelyard("compare", "law/glm", "law/kb", "--json", code=0).json()
    assert {one["suite"] for one in compared["runs"]} == {"law"}


def test_which_of_several_runs_was_taken_is_said_beside_the_output(steelyard, write, says):
    config = write({"glm": says("A"), "kb": says("B")})
    for _ in range(2):
        steelyard("run", config, "--quiet", code=0)
    newest = {one["target"]: one["id"] for one in reversed(steelyard("runs", "--json").json())}
    shown = steelyard("show", "glm", "--json", code=0)
    assert shown.json()["run"] == newest["glm"]
    assert re.fullmatch(rf"glm: run {newest['glm']} of [-\d]+ [\d:]+ UTC, the newest of 2 in suite exam\n", shown.err)
    assert steelyard("show", newest["glm"], code=0).err == ""


def test_show_breaks_other_scores_down_by_group_where_asked(steelyard, write, says):
    steelyard("run", write({"a": says()}), code=0)
    plain = steelyard("show", "a", code=0).out
    assert "--by-group 'solved_rate'" in steelyard("show", "a", "--by-group", "solved_rate", code=2).err
    assert steelyard("show", "a", "--by-group", "all", code=0).out.splitlines()[0] == plain.splitlines()[0]


def test_show_lists_pages_of_what_meets_a_condition(steelyard, write, says):
    steelyard("run", write({"a": says("A"), "b": says("B")}), code=0)
    first = steelyard("show", "a", "--where", "wrong and group = 'group 1'".replace("'", '"'), "-n", "2", code=0).out
    assert "1 to 2 of 10 records; --page 2 shows the next" in first
    last = steelyard("show", "a", "--where", "wrong", "-n", "2", "--page", "8", "--json", code=0).json()
    assert (last["total"], last["page"], last["records"]) == (15, 8, last["records"][:1])
    assert (
        "there is no page 9: 15 records match"
        in steelyard("show", "a", "--where", "wrong", "-n", "2", "--page", "9").out
    )
    assert "matches: errors and wrong" in steelyard("show", "a", "--only", "errors", "--where", "wrong", code=0).out


def test_show_lists_what_became_worse(steelyard, write, says):
    steelyard("run", write({"a": says("A"), "b": says("B", **{"Question 4?": "A"})}), code=0)
    listed = steelyard("show", "b", "--where", "regression", "--against", "a", "--json", "-n", "50", code=0).json()
    compared = steelyard("compare", "a", "b", "--json", code=0).json()
    assert {one["sample"]["id"] for one in listed["records"]} == set(compared["comparison"]["pairs"][0]["regressions"])
    assert listed["total"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--where", "wrnog"], "did you mean 'wrong'"),
        (["--where", "regression"], "name that run with --against"),
        (["--sort", "solve_rat"], "did you mean 'solve_rate'"),
        (["--where", "wrong", "--only", "damaged"], "--only damaged cannot be combined with --where"),
        (["1", "--against", "a"], "cannot be combined with --where, --search, --sort, --against and"),
        (["--where", "wrong", "--with-labels"], "leave out --with-labels"),
    ],
)
def test_show_refuses_a_list_that_cannot_be_meant(steelyard, write, says, options, said):
    steelyard("run", write({"a": says("A")}), code=0)
    assert said in steelyard("show", "a", *options, code=2).err


def test_the_first_line_of_a_result_counts_samples_and_not_their_repeats(steelyard, write, says):
    path = write({"a": says("A"), "b": says("B")}, options={"repeats": 2})
    assert "exam.json · 20 questions · solve rate" in steelyard("run", path, code=0).out
    assert "b against a · 20 questions · solve rate" in steelyard("compare", "a", "b", code=0).out
    assert "exam.json · 20 questions" in steelyard("run", write({"a": says("A")}, options={"repeats": 2}), code=0).out


def test_what_to_check_by_hand_is_told_by_its_kinds_of_one_run_and_takes_no_space_of_intervals(steelyard, write, says):
    replies = {"Question 1?": "", "Question 2?": "I cannot answer this.", "Question 3?": ""}
    steelyard("run", write({"a": says("A", **replies), "b": says("B", **replies)}), code=0)
    kinds = "(2 unreadable, 1 refused)"
    assert f"3 replies {kinds}" in steelyard("show", "a", code=0).out
    beside = steelyard("compare", "a", "b", "--full", code=0).out
    [line] = [line for line in beside.splitlines() if line.startswith("to check by hand")]
    assert line.count("3 replies") == 2
    assert "(" not in line
    [rates] = [line for line in beside.splitlines() if line.startswith("all questions")]
    assert rates.count("(") == 2


def test_refused_replies_are_drawn_among_those_without_a_verdict(steelyard, write, says):
    steelyard("run", write({"a": says("A", **{"Question 1?": "", "Question 2?": "I cannot answer this."})}), code=0)
    draw = ("-n", 6, "--author", "ann")
    assert "  2 of the replies without a verdict\n" in steelyard("errors", "draw", "a", *draw, code=0).out
    draw = ("--draw", 6, "--stratified", "--title", "q", "--author", "ann")
    assert "  2 of the replies without a verdict\n" in steelyard("queue", "create", "a", *draw, code=0).out
