"""Baselines: a file that stands for a run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from steelyard import ExactMatch, Sample, Score, compare, evaluate
from steelyard.analysis.comparison.baseline import FORMAT, baseline_text, check_replaceable, read_baseline
from steelyard.analysis.comparison.sample_scores import hashes_by_id
from steelyard.analysis.summary.run_summary import summarize_run
from steelyard.errors import ConfigError
from steelyard.plain_json import json_value

COUNTRIES = {
    "France": "Paris",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Chile": "Santiago",
    "中国": "北京",
    "Kenya": "Nairobi",
}
SAMPLES = [
    Sample(f"s{at}", country, capital, group="far" if at > 2 else "near", cluster=f"c{at // 2}")
    for at, (country, capital) in enumerate(COUNTRIES.items())
]


def knows(*countries):
    """A target that knows the capital of these, is silent of Kenya and breaks at Chile unless it knows it."""

    def capitals(sample):
        if sample.input in countries:
            return sample.reference
        if sample.input == "Chile":
            raise RuntimeError("no map")
        return ""

    return capitals


def closeness(sample, output):
    """A score on no scale, which does not apply to what is far."""
    if sample.group == "far":
        return Score("closeness", None, outcome="not_applicable", reason="too far")
    return Score("closeness", 1 / 3 if output.value else 2.0)


def run_of(*countries, name="atlas", samples=SAMPLES, **options):
    scorers = [ExactMatch(), closeness]
    return evaluate(knows(*countries), samples, scorers, name=name, max_errors=1.0, fresh=True, **options)


def text_of(run):
    return baseline_text(run.data())


def hashes_of(run):
    return hashes_by_id(run.scores.samples, run.hashes)


def test_a_file_stands_for_its_run():
    run = run_of("France", "中国", repeats=2)
    Path("baseline.json").write_text(text_of(run), encoding="utf-8")
    kept = read_baseline(Path("baseline.json"))
    assert (kept.id, kept.target, kept.suite, kept.state) == (run.id, run.target, run.suite, "finished")
    assert sorted(kept.scores.rows()) == sorted(run.data().scores.rows())
    assert hashes_of(kept) == hashes_of(run.data())
    ours, theirs = summarize_run(kept), run.summary()
    assert ours.scores == theirs.scores
    assert ours.groups == theirs.groups
    assert (ours.primary, ours.counts.planned, ours.counts.errors) == (theirs.primary, 12, 2)


@pytest.mark.parametrize("score", ["exact_match", "closeness"])
def test_a_comparison_with_a_file_gives_the_numbers_of_one_with_its_run(score):
    old, new = run_of("France", "中国", "Chile"), run_of("Italy", "中国", "Kenya")
    Path("baseline.json").write_text(text_of(old), encoding="utf-8")
    (with_run,) = compare(old, new, score=score).pairs
    (with_file,) = compare(read_baseline(Path("baseline.json")), new, score=score).pairs
    assert json_value(with_file.headline) == json_value(with_run.headline)
    assert json_value(with_file.further.groups) == json_value(with_run.further.groups)
    assert with_file.changed == with_run.changed
    names = ("n_paired", "unpaired", "changed_content")
    assert [getattr(with_file.overlap, name) for name in names] == [getattr(with_run.overlap, name) for name in names]
    assert with_file.overlap.changed_content == 0
    assert with_file.headline.n == (5 if score == "exact_match" else 3)


def test_a_new_baseline_differs_in_a_line_per_sample_that_changed():
    before, after = text_of(run_of("France", "Chile")), text_of(run_of("Italy", "Chile"))
    changed = {line for line in set(before.splitlines()) ^ set(after.splitlines()) if '"hash"' in line}
    assert len(changed) == 4, "s0 and s1, before and after"
    heads = {line.split(":")[0] for line in set(before.splitlines()) ^ set(after.splitlines()) if '"hash"' not in line}
    assert heads <= {'"run"', '"created"'}


def test_equal_runs_differ_in_run_and_time_alone():
    first, second = (text_of(run_of("France", "Chile")).splitlines() for _ in range(2))
    differ = {earlier.split(":")[0] for earlier, later in zip(first, second, strict=True) if earlier != later}
    assert '"run"' in differ
    assert differ <= {'"run"', '"created"'}


def test_a_file_holds_no_question_answer_or_reference():
    text = text_of(run_of("France", "Chile"))
    assert json.loads(text)["format"] == FORMAT
    assert [word for word in (*COUNTRIES, *COUNTRIES.values()) if word in text] == []


def test_a_file_is_small():
    """About 60 bytes a sample of one score: 100,000 samples make 6 MB."""
    samples = [Sample(f"sample-{at}", "?", "!") for at in range(1000)]
    text = text_of(evaluate(lambda sample: "!", samples, [ExactMatch()]))
    assert len(text) < 1000 * 80 + 2000


def test_no_baseline_is_made_of_an_unfinished_run():
    broken = evaluate(knows("France"), SAMPLES, [ExactMatch()], max_errors=0.0, on_broken="return")
    assert broken.state == "broken"
    with pytest.raises(ConfigError, match=r"is broken, .* a baseline needs a finished run"):
        text_of(broken)
    with pytest.raises(ConfigError, match="has no scores"):
        text_of(evaluate(lambda sample: "!", SAMPLES, []))


GOOD = {
    "format": FORMAT, "run": "a", "suite": "s", "target": "t", "state": "finished", "created": "", "planned": 1,
    "done": 1, "errors": 0, "manifest": {}, "samples": [{"id": "x", "hash": "1", "scores": {"right": 1}}],
}  # fmt: skip


def read(value):
    Path("b.json").write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return read_baseline(Path("b.json"))


def test_a_file_that_was_written_anew_by_a_formatter_is_read():
    kept = read(json.dumps(GOOD, indent=4, sort_keys=True))
    assert [(row.sample, row.value) for row in kept.scores.rows()] == [("x", 1.0)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "is not a baseline"),
        ("[]", "expected a mapping with"),
        ('{"format": "other"}', "expected a mapping with"),
        (json.dumps(GOOD)[:-9], "is not a baseline"),
        ({**GOOD, "samples": {}}, "samples: expected list, not dict"),
        ({**GOOD, "planned": True}, "planned: expected int, not bool"),
        ({key: value for key, value in GOOD.items() if key != "target"}, "'target' is missing"),
        ({**GOOD, "samples": [{"id": "x"}]}, "'scores' is missing"),
        ({**GOOD, "samples": GOOD["samples"] * 2}, "an id occurs twice; after a merge, make the baseline again"),
        ({**GOOD, "samples": [{"id": "x", "scores": {"right": "wrong"}}]}, "sample 1: right: expected a number or one"),
        ({**GOOD, "samples": [{"id": "x", "scores": {"right": [1, True]}}]}, "not True"),
        (json.dumps(GOOD).replace(": 1}", ": NaN}"), "NaN is not a number"),
        (json.dumps(GOOD).replace(": 1}", ": 1e999}"), "expected a number"),
        ("[" * 100_000, "is not a baseline"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_says_what_is_wrong(value, words):
    with pytest.raises(ConfigError, match="is not a baseline") as caught:
        read(value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scores", 3),
        ("scores", [["a"]]),
        ("primary", ["exact_match"]),
        ("score_infos", ["exact_match"]),
        ("score_infos", {"exact_match": [0, 1]}),
        ("score_infos", {"exact_match": {"range": [5, 1]}}),
        ("score_infos", {"exact_match": {"threshold": "high"}}),
        ("score_infos", {"exact_match": {"lower_is_better": "no"}}),
        ("score_infos", {"exact_match": {"denominator": ["all"]}}),
        ("score_infos", {"exact_match": {"labels": ["right"]}}),
        ("tags", {"a": 1}),
    ],
)
def test_a_manifest_that_no_run_wrote_is_refused(key, value):
    written = json.loads(text_of(run_of("France")))
    written["manifest"][key] = value
    path = Path("edited.json")
    path.write_text(json.dumps(written), encoding="utf-8")
    with pytest.raises(ConfigError, match=f"manifest: {key}: expected"):
        read_baseline(path)


def rating_file(**manifest):
    samples = [{"id": str(at), "hash": "1", "scores": {"rating": value}} for at, value in enumerate([4, 5, "unparsed"])]
    return read({**GOOD, "manifest": {"scores": ["rating"], **manifest}, "samples": samples})


def test_a_file_is_read_with_its_scale_and_denominator():
    of_rating = {"rating": {"range": [1, 5], "denominator": "answered"}}
    (rating,) = summarize_run(rating_file(score_infos=of_rating)).scores
    assert (rating.over, rating.scale, rating.bounds) == ("scored", (1, 5), ((9 + 1) / 3, (9 + 5) / 3))


def test_a_file_keeps_what_the_scorers_declared():
    Path("baseline.json").write_text(text_of(run_of("France")), encoding="utf-8")
    kept = read_baseline(Path("baseline.json")).manifest["score_infos"]
    assert kept["exact_match"] == {
        "range": [0.0, 1.0], "lower_is_better": False, "threshold": 1.0, "denominator": "all"
    }  # fmt: skip
    assert kept["closeness"] == {"range": None, "lower_is_better": False, "denominator": "answered"}


def test_a_missing_file_says_how_one_is_made():
    with pytest.raises(ConfigError, match=r"make one from a run with: steelyard baseline RUN --to baseline\.json"):
        read_baseline(Path("ci/baseline.json"))


def test_only_a_baseline_is_written_over():
    check_replaceable(Path("new.json"))
    Path("b.json").write_text(json.dumps(GOOD), encoding="utf-8")
    check_replaceable(Path("b.json"))
    Path("package.json").write_text('{"name": "site"}', encoding="utf-8")
    with pytest.raises(ConfigError, match="exists and is not a baseline"):
        check_replaceable(Path("package.json"))
    with pytest.raises(ConfigError, match=r"must end in \.json"):
        check_replaceable(Path("baseline.txt"))


def test_git_merges_changes_of_different_samples():
    """A line a sample: two branches that each change one sample do not conflict."""
    lines = [json.dumps({"id": f"s{at}", "hash": "1", "scores": {"right": 1}}) for at in range(20)]
    texts = {"base": lines, "ours": [*lines], "theirs": [*lines]}
    texts["ours"][2], texts["theirs"][15] = (lines[at].replace(": 1}", ": 0}") for at in (2, 15))
    for name, text in texts.items():
        head = json.dumps({key: value for key, value in GOOD.items() if key != "samples"})[:-1]
        Path(name).write_text("\n".join([f'{head}, "samples": [', ",\n".join(text), "]", "}", ""]), encoding="utf-8")
    merge = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    merged = subprocess.run(merge, capture_output=True, text=True, check=True)
    assert [row.sample for row in read(merged.stdout).scores.rows() if row.value == 0] == ["s2", "s15"]
