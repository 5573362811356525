"""run, resume and rescore as a person sees them."""

import json

import pytest


@pytest.fixture
def quiz(steelyard, tmp_path, monkeypatch):
    """The starter's folder, entered."""
    steelyard("init", "quiz", "--suite", "choice", code=0)
    monkeypatch.chdir(tmp_path / "quiz")


def test_three_targets_with_their_comparison_fit_a_screen_of_80_by_24(steelyard, write, says):
    targets = {
        "glm-4": says("A"),
        "周易知识库问答系统": says("B", template="{{question}} {{options}}"),
        "chatglm3-6b[knowledge_base=yes,top_k=5,score_threshold=1.0]": says("no idea"),
    }
    path = write(targets, gate={"solve_rate": ">= 0"})
    for _ in range(2):  # the second time every reply comes from the journal, and the output says so
        result = steelyard("run", path, code=0)
        lines = result.out.splitlines()  # a terminal's progress is erased in the end
        assert len(lines) <= 15, "\n".join(lines)
        assert max(width(line) for line in lines) <= 80
    assert "60 of 60 replies were cached (20, 20, 20 in the order of the runs)" in result.out
    assert "· 0 calls" in result.out
    assert "20 unreadable" in result.out
    assert "Gate: of 3 rules 3 hold." in result.out


def width(text):
    from rich.cells import cell_len

    return cell_len(text)


def test_no_note_on_groups_where_no_groups_are_shown(steelyard, quiz):
    assert "groups" not in steelyard("run", "choice.yaml", code=0).out
    assert "The p-values of the 4 groups are corrected" in " ".join(
        steelyard("compare", "guess", "notes", "--full", code=0).out.split()
    )


def test_plain_progress_tells_of_every_target_on_standard_error(steelyard, quiz):
    result = steelyard("run", "choice.yaml", code=0)
    assert result.err.splitlines() == [
        "guess: 20 of 20 done (100 %), solve rate 30.0 %, 0 errors",
        "notes: 20 of 20 done (100 %), solve rate 65.0 %, 0 errors",
    ]
    assert steelyard("run", "choice.yaml", "--quiet", code=0).err == ""


def test_json_stands_alone_on_standard_output(steelyard, quiz):
    result = steelyard("run", "choice.yaml", "--json", code=0)
    found = result.json()
    assert [one["target"] for one in found["runs"]] == ["guess", "notes"]
    assert found["comparison"]["pairs"][0]["n_paired"] == 20
    assert found["gate"] is None
    assert "done" in result.err


def test_a_dry_run_counts_and_sends_nothing(steelyard, write, says, tmp_path):
    path = write({"a": says(), "floor": {"baseline": "longest"}}, options={"repeats": 2})
    result = steelyard("run", path, "--dry-run", code=0)
    assert "40 calls would be sent" in result.out
    assert not (tmp_path / ".steelyard").exists()
    found = steelyard("run", path, "--dry-run", "--json", code=0).json()
    assert [(one["target"], one["calls"], one["asks"]) for one in found] == [("a", 40, True), ("floor", 0, False)]
    steelyard("run", path, code=0)
    assert [one["in_journal"] for one in steelyard("run", path, "--dry-run", "--json", code=0).json()] == [40, 0]


def test_what_sends_nothing_needs_no_key(steelyard, write, monkeypatch):
    model = {"openai_compatible": {"name": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "${A_KEY_OF_MY_OWN}"}}
    path = write({"a": {"prompt": {"template": "{{question}}", "model": model}}}, options={"retry": {"base_s": 0.01}})
    missing = "set A_KEY_OF_MY_OWN or put it into"
    assert "20 calls would be sent" in steelyard("run", path, "--dry-run", code=0).out
    assert missing in steelyard("run", path, code=2).err
    monkeypatch.setenv("A_KEY_OF_MY_OWN", "sk-0123456789abcdef")
    steelyard("run", path, code=4)  # nobody listens there
    monkeypatch.delenv("A_KEY_OF_MY_OWN")
    assert "scored again without a call" in steelyard("rescore", "a", code=0).out
    told = steelyard("export", "a", "--json-dir", "x", "--source", "exam.csv", code=2).err
    assert "has no questions of 'exam.csv'; it has no records" in told
    assert missing in steelyard("resume", "a", code=2).err


def test_a_dry_run_of_what_asks_no_model_says_so(steelyard, quiz):
    out = steelyard("run", "choice.yaml", "--dry-run", code=0).out
    assert out.splitlines()[-1] == "No target or scorer calls a model: no call would be sent."


def test_what_is_odd_about_the_samples_is_told_before_they_are_asked(steelyard, write, says, tmp_path):
    with (tmp_path / "exam.csv").open("a", encoding="utf-8") as file:
        file.write("\nQuestion 21?,one,two,three,four,E,group 0")
    path = write({"a": says()}, samples={"file": "exam.csv", "skip_bad": True})
    for options in ((), ("--dry-run",), ("--json",)):
        assert "note: 1 row with a defect was left out (skip_bad)" in steelyard("run", path, *options, code=0).err
    assert steelyard("run", path, "--quiet", code=0).err == ""


def test_three_runs_are_all_named_in_the_comparison_to_type_next(steelyard, write, says):
    out = steelyard("run", write({name: says(answer) for name, answer in zip("abc", "ABC", strict=True)})).out
    assert out.splitlines()[-1] == "      steelyard compare a b c"


def test_limit_takes_the_first_samples_and_resume_keeps_it(steelyard, write, says):
    path = write({"a": says()}, options={"budget": {"calls": 2}, "concurrency": 1})
    assert "2 of 5 records done" in steelyard("run", path, "--limit", "5", code=130).out
    write({"a": says()})
    assert steelyard("resume", "--json", code=0).json()["runs"][0]["planned"] == 5


def test_fresh_asks_again_what_the_journal_could_answer(steelyard, write, says):
    path = write({"a": says()})
    counts = [
        steelyard("run", path, *more, "--json", code=0).json()["runs"][0]["from_journal"]
        for more in ([], [], ["--fresh"])
    ]
    assert counts == [0, 20, 0]


def test_resume_of_what_is_finished_says_so_and_shows_it(steelyard, quiz):
    steelyard("run", "choice.yaml", code=0)
    result = steelyard("resume", "notes", code=0)
    assert "nothing to resume" in result.err
    assert "once more" not in result.err
    assert "guess" in result.out


def test_resume_of_a_finished_run_with_an_error_says_how_to_send_it_again(steelyard, write, tmp_path):
    (tmp_path / "breaks_once.py").write_text(
        "def answer(sample):\n    return 'A' if sample.id != 'line:2' else 1 / 0\n"
    )
    steelyard("run", write({"a": {"function": "breaks_once:answer"}}, options={"max_errors": 0.1}), code=0)
    assert "is finished; to send what failed again (1), run its configuration once more" in " ".join(
        steelyard("resume", code=0).err.split()
    )


def test_resume_refuses_changed_inputs_by_name_until_told_otherwise(steelyard, write, says):
    options = {"budget": {"calls": 3}, "concurrency": 1}
    steelyard("run", write({"a": says("A")}, options=options), code=130)
    write({"a": says("B")})
    assert "changed since it was started: target.prompt.model" in steelyard("resume", code=2).err
    assert steelyard("resume", "--allow-changed", "--json", code=0).json()["runs"][0]["done"] == 20


def test_rescore_shows_before_and_now(steelyard, quiz):
    steelyard("run", "choice.yaml", code=0)
    result = steelyard("rescore", "notes", code=0)
    assert "(notes), scored again without a call:" in result.out
    assert result.out.splitlines()[2].split() == ["solve_rate", "65.0", "%", "65.0", "%", "0", "20", "0", "0"]
    found = steelyard("rescore", "notes", "--json", code=0).json()
    assert found["before"]["scores"] == found["after"]["scores"]
    assert found["changed"] == {}


def test_a_moved_threshold_is_seen_in_the_score_that_it_moves(steelyard, tmp_path, monkeypatch):
    """The headline stays where it was: `correct` alone depends on the threshold."""
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"How deep is well {n}?", "answer": f"{n} metres"} for n in range(1, 5)]
    replies = {f"well {n}?": f"{n}\nFair." for n in range(1, 4)}
    config = {
        "suite": "rag",
        "samples": {"file": "questions.json"},
        "judge": {"model": {"scripted": {"replies": replies, "default": "No idea."}}},
        "targets": {"a floor with a name that is long": {"baseline": "reference"}},
        "scorers": [{"correctness": {"threshold": 4}}],
    }
    write_text(tmp_path / "questions.json", rows)
    write_text(tmp_path / "rag.json", config)
    steelyard("run", "rag.json", code=0)
    config["scorers"] = [{"correctness": {"threshold": 2}}]
    write_text(tmp_path / "rag.json", config)
    result = steelyard("rescore", "latest", code=0)
    lines = [line.split() for line in result.out.splitlines()[1:]]
    assert lines == [
        ["score", "before", "now", "changed", "n", "unreadable", "refused"],
        ["correctness", "2.00", "2.00", "0", "3", "1", "0"],
        ["correct", "0.0", "%", "66.7", "%", "2", "3", "1", "0"],
    ]
    assert max(width(line) for line in result.out.splitlines()) <= 80


def write_text(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")


def test_a_share_has_one_unit_whatever_its_values_are(steelyard, tmp_path, monkeypatch):
    """Of one target every value is 1, of the other some lie between: both are per cent, as on pages."""
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"{n}?", "answer": f"{n} old houses"} for n in range(4)]
    replies = {f"{n}?": f"{n} houses" for n in range(4)}
    said = {"prompt": {"template": "{{question}}", "model": {"scripted": {"replies": replies}}}}
    write_text(tmp_path / "questions.json", rows)
    targets = {"all": {"baseline": "reference"}, "some": said}
    write_text(tmp_path / "rag.json", {"suite": "rag", "samples": {"file": "questions.json"}, "targets": targets})
    lines = steelyard("run", "rag.json", "--full", code=0).out.splitlines()
    assert any(line.split()[:4] == ["Token", "F1", "100.0", "%"] and "80.0 % (n 4" in line for line in lines)


def test_a_store_elsewhere_is_named_in_what_to_type_next(steelyard, quiz):
    result = steelyard("run", "choice.yaml", "--store", "my store.db", code=0)
    assert result.out.count(" --store 'my store.db'") == 2
    steelyard("runs", code=2)


def test_pages_are_written_beside_the_outcome(steelyard, quiz, tmp_path):
    result = steelyard("run", "choice.yaml", "--html", "out/r.html", "--markdown", "out/r.md", code=0)
    assert result.err.splitlines()[-2:] == ["wrote out/r.html", "wrote out/r.md"]
    assert (tmp_path / "quiz/out/r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "steelyard report" not in result.out


def test_twelve_targets_are_compared_in_a_table(steelyard, write):
    model = {"scripted": {"default": "{{letter}}"}}
    targets = {"kb": {"prompt": {"template": "{{question}}", "model": model, "parameters": {"top_k": "{{top_k}}"}}}}
    path = write(targets, matrix={"letter": ["A", "B", "C", "D"], "top_k": [3, 5, 8]}, gate={"solve_rate": ">= 0.2"})
    short = steelyard("run", path, code=0).out.splitlines()
    assert len(short) <= 15
    assert "  and 4 more: --full" in short
    out = steelyard("run", path, "--full", code=0).out
    assert max(width(line) for line in out.splitlines()) <= 80
    assert "Against kb[letter=A,top_k=3]" in out
    assert out.count("not decided") == 11
    assert "Gate: of 12 rules 12 hold." in out
