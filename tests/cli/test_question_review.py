"""`generate qa --review`: accepted questions are written, and a review goes on where it stopped."""

from __future__ import annotations

import io
import json
import sys

import pytest
from tests.generate.exam_server import Exam, exam_server, numbered

from steelyard.cli.question_review import DecisionLog
from steelyard.errors import DataError
from steelyard.generate.question_set import QaRow, read_rows

STATION = (
    "# The station\n\n## Rain\n\nThe rim of the gauge stands 30 cm above the ground and is levelled each spring.\n\n"
    "## License\n\nThis handbook may be copied as you like, as long as the station is named in every copy.\n"
)
ASKED = [
    "How high is the rim of the gauge?",
    "When is the rim of the gauge levelled?",
    "What does Table 3 show?",
    "Who reads the gauge on Sundays?",
]

ANSWERS = {ASKED[0]: "30 cm above the ground.", ASKED[1]: "Each spring.", ASKED[3]: "The warden."}


@pytest.fixture
def review(steelyard, tmp_path, monkeypatch):
    """Types `keys`, one a line, at `generate qa --review` on a station's handbook."""
    (tmp_path / "station.md").write_text(STATION, encoding="utf-8")

    def run(server, keys, *more, code=0):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
        given = ("--documents", tmp_path / "station.md", "--out", "q.jsonl", "--per-chunk", "4", "--review")
        return steelyard("generate", "qa", *given, "--model", "exam", "--base-url", server.url, *more, code=code)

    return run


@pytest.fixture
def server():
    exam = Exam(questions=lambda text, count: numbered(ASKED), answer=lambda text, question: ANSWERS[question])
    with exam_server(exam) as server:
        yield server


def written(tmp_path):
    return [row.question for row in read_rows(tmp_path / "q.jsonl")]


def test_only_accepted_questions_are_written_and_the_counts_are_reported(review, server, tmp_path):
    result = review(server, ["a", "r", "s", "a"])
    assert written(tmp_path) == [ASKED[0], ASKED[3]]
    assert "3 of 4 requested questions" in result.out
    assert "dropped: 1 refers to figure" in result.out
    assert "1 chunk was left out as boilerplate: 1 licence" in result.out
    assert "question 3 of 3, from station.md" in result.out
    assert "The rim of the gauge stands 30 cm" in result.out, "s shows the source"
    assert "q.jsonl: 2 accepted, 1 rejected, 0 undecided" in result.out


def test_an_interrupted_review_goes_on_and_asks_no_model_again(review, server, tmp_path):
    first = review(server, ["r", "q"], code=130)
    assert "0 accepted, 1 rejected, 2 undecided; the same command continues" in first.out
    assert not (tmp_path / "q.jsonl").exists()
    asked = len(server.asked)
    second = review(server, ["a"], code=130)  # the input ends
    assert written(tmp_path) == [ASKED[1]]
    assert ASKED[0] not in second.out
    review(server, ["a"])
    assert written(tmp_path) == [ASKED[1], ASKED[3]]
    last = review(server, [])
    assert len(server.asked) == asked, "a finished run is reviewed as it is"
    assert "3 of 4 requested questions" in last.out, "for a person, not as JSON"


def test_a_decision_can_be_undone(review, server, tmp_path):
    review(server, ["u", "a", "u", "r", "what?", "a", "r"])
    assert written(tmp_path) == [ASKED[1]]


def test_the_set_without_a_review_is_not_replaced(review, steelyard, server, tmp_path):
    (tmp_path / "q.jsonl").write_text('{"mine": 1}\n', encoding="utf-8")
    result = review(server, ["a"], code=2)
    assert "exists already" in result.err
    assert server.asked == []


def test_a_review_asks_at_the_terminal_and_prints_no_json(review, server):
    assert "--review asks at the terminal" in review(server, [], "--json", code=2).err


def test_a_line_that_was_cut_off_by_a_kill_is_left_out(tmp_path):
    rows = [QaRow(str(no), f"Q{no}?", "A.") for no in range(3)]
    log = DecisionLog(tmp_path / "q.review.jsonl")
    log.decide(rows[0], accepted=True)
    log.decide(rows[1], accepted=False)
    with log.path.open("a", encoding="utf-8") as file:
        file.write('{"id": "2", "acc')
    again = DecisionLog(log.path)
    assert (again.accepted(rows), again.undecided(rows)) == ((rows[0],), (rows[2],))


def test_a_file_of_something_else_is_no_log(tmp_path):
    path = tmp_path / "q.review.jsonl"
    path.write_text(json.dumps({"question": "?"}) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="no decisions"):
        DecisionLog(path)


def test_pages_and_headings_are_chosen_from_the_command_line(steelyard, server, tmp_path):
    (tmp_path / "station.md").write_text(STATION, encoding="utf-8")
    given = ("generate", "qa", "--documents", tmp_path / "station.md", "--out", "q.jsonl", "--per-chunk", "4")
    model = ("--model", "exam", "--base-url", server.url)
    assert "only PDF files" in steelyard(*given, *model, "--pages", "1-2", code=2).err
    assert "no chunk to ask about" in steelyard(*given, *model, "--exclude-heading", "the station", code=2).err
    found = steelyard(*given, *model, "--keep-boilerplate", "--exclude-heading", "rain", "--json", code=0).json()
    assert (found["chunks"], found["left_out"]) == (1, {})
    assert "License" in server.asked[0]
