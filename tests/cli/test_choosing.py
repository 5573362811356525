"""run --only EXPR --from RUN, and run --skip-bad."""

import pytest


@pytest.fixture
def first(steelyard, write, says, once):
    """A run that says A to 20 questions, five of which have the key A."""
    once(lambda: steelyard("run", write({"a": says("A")}), code=0))
    return "exam.json"


def planned(steelyard, path, *options, code=0):
    return steelyard("run", path, "--json", *options, code=code).json()["runs"][0]["planned"]


@pytest.mark.parametrize(
    ("expression", "count"),
    [("failed", 15), ("wrong", 15), ("group=group 1", 10), ('wrong and group="group 1"', 10), ("solve_rate=1", 5)],
)
def test_only_the_samples_that_an_earlier_run_found_so_are_asked(steelyard, first, expression, count):
    assert planned(steelyard, first, "--only", expression, "--from", "a") == count


def test_samples_that_failed_for_good_can_be_asked_again_by_themselves(steelyard, write, says, tmp_path):
    (tmp_path / "shaky.py").write_text(
        "def answer(sample):\n    if sample.id.endswith(('3', '7')):\n        raise OSError('down')\n    return 'A'\n",
        encoding="utf-8",
    )
    path = write({"a": {"function": "shaky:answer"}}, options={"max_errors": 1.0})
    steelyard("run", path, code=0)
    # They fail again, so that nothing is scored.
    assert planned(steelyard, path, "--only", "errors", "--from", "latest", code=3) == 4


def test_the_page_says_which_samples_were_chosen(steelyard, first, tmp_path):
    steelyard("run", first, "--only", "wrong", "--from", "a", "--html", "page.html", code=0)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "15 samples were asked: wrong in run" in page


def test_one_option_without_the_other_is_a_mistake(steelyard, first):
    assert "add --from RUN" in steelyard("run", first, "--only", "wrong", code=2).err
    assert "add --only EXPR" in steelyard("run", first, "--from", "a", code=2).err


def test_a_condition_that_nothing_fits_ends_before_anything_is_asked(steelyard, first):
    err = steelyard("run", first, "--only", "errors", "--from", "a", code=2).err
    assert "no sample of run" in err
    assert "matches: errors" in err


def test_an_interrupted_part_goes_on_with_the_same_samples(steelyard, write, says, tmp_path):
    steelyard("run", write({"a": says("A")}), code=0)
    path = write({"a": says("B")}, options={"budget": {"calls": 4}})
    steelyard("run", path, "--only", "wrong", "--from", "a", code=130)
    write({"a": says("B")})
    found = steelyard("resume", "--json", code=0).json()["runs"][0]
    assert (found["planned"], found["done"]) == (15, 15)


def test_skip_bad_leaves_out_rows_with_a_defect_and_counts_them(steelyard, write, says, tmp_path):
    path = write({"a": says("A")})
    with (tmp_path / "exam.csv").open("a", encoding="utf-8") as file:
        file.write("\nAnother?,one,two,three,four,Z,group 1")
    assert "the key 'Z'" in steelyard("run", path, code=2).err
    assert planned(steelyard, path, "--skip-bad") == 20
    steelyard("run", path, "--skip-bad", "--html", "page.html", code=0)
    assert "with a defect" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_was_left_out_stays_out_after_a_resume(steelyard, write, says, tmp_path):
    path = write({"a": says("A")}, options={"budget": {"calls": 4}})
    with (tmp_path / "exam.csv").open("a", encoding="utf-8") as file:
        file.write("\nAnother?,one,two,three,four,Z,group 1")
    steelyard("run", path, "--skip-bad", code=130)
    write({"a": says("A")})
    with (tmp_path / "exam.csv").open("a", encoding="utf-8") as file:
        file.write("\nAnother?,one,two,three,four,Z,group 1")
    assert steelyard("resume", "--json", code=0).json()["runs"][0]["done"] == 20
