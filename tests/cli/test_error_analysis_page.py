"""The page on error analysis: its commands run in their order."""

import csv
import re
import shlex
from pathlib import Path

from tests.generate.exam_server import exam_server, fenced

from steelyard import ExactMatch, Options, Sample, Store, Suite, evaluate_suite
from steelyard.people.codings import edit_code, find_code

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/error-analysis.md"
SAMPLES = tuple(Sample(f"q{at}", f"How far is town {at}?", f"{at} km") for at in range(40))


def in_miles(sample):
    """The wrong unit for every fourth sample."""
    number = int(sample.id[1:])
    return f"{number} miles" if number % 4 == 0 else f"{number} km"


def judge(prompt):
    return "Verdict: YES" if "miles" in fenced(prompt, "answer") else "Verdict: NO"


def fill_in(sheet):
    """Note and code of each record, as a person would write them."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        wrong = "miles" in row["answer"]
        row["note"], row["code"] = ("gives miles", "wrong unit") if wrong else ("ok", "")
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def commands():
    """The first block of commands on the page, without remarks."""
    block = re.search(r"((?:^    steelyard .*\n)+)", PAGE.read_text("utf-8"), re.MULTILINE)[1]
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


def test_the_commands_of_the_page_lead_to_an_installed_scorer(steelyard, monkeypatch):
    monkeypatch.setenv("KEY", "secret")
    targets = {"v1": in_miles, "v2": in_miles}
    evaluate_suite(Suite("rag", "custom", SAMPLES, targets, (ExactMatch(),), Options()))
    typed = commands()
    assert [words[1] for words in typed] == ["draw", "sheet", "note", "show", "try", "install"]
    with exam_server(judge) as server:
        for words in typed:
            if words[1] == "note":
                fill_in(Path("notes.csv"))
            if words[1] == "try":
                defined = "Names a distance in another unit than the question's."
                with Store() as store:
                    named = find_code(store, "wrong unit")
                    edit_code(store, named.coding, named.code.id, "wrong unit", definition=defined, author="ann")
            more = ["--yes"] if words[1] == "install" else []
            result = steelyard(*(word.replace("https://...", server.url) for word in words), *more, code=0)
        assert len(server.asked) == 80 - 3
    assert 'name: "wrong_unit"' in result.out


def test_every_option_that_the_page_names_is_there(steelyard):
    named = set(re.findall(r"`(--[a-z-]+)", PAGE.read_text("utf-8")))
    helps = "".join(
        steelyard(*name, "--help", code=0).out for name in (("errors", "try"), ("errors", "install"), ("review",))
    )
    assert {option for option in named if option not in helps} == set()
