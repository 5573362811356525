"""Which samples of two stored runs make a pair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steelyard import Sample, compare, evaluate
from steelyard.errors import ConfigError
from steelyard.report.sections.regressions import changed_samples
from steelyard.scorers.lexical import ExactMatch

CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Peru": "Lima", "Kenya": "Nairobi", "Oman": "Muscat"}


@pytest.fixture
def stored(tmp_path):
    """stored(samples, right): a run that answers the first `right` countries of CAPITALS correctly."""

    def run(samples, right, name="target"):
        known = dict(list(CAPITALS.items())[:right])

        def answers(sample):
            return known.get(sample.input, "no idea")

        answers.__name__ = name
        return evaluate(answers, samples, [ExactMatch()], store=tmp_path / "store.db")

    return run


def countries(ids, **fields):
    """One sample per country with these ids; a field is a list of metadata values."""
    return [
        Sample(ident, country, capital, metadata={key: values[at] for key, values in fields.items()})
        for at, (ident, (country, capital)) in enumerate(zip(ids, CAPITALS.items(), strict=False))
    ]


def pair(*runs, **options):
    (pair,) = compare(*runs, **options).pairs
    return pair


def alone(comparison):
    """How many samples only the baseline has, and only the other run."""
    overlap = comparison.overlap
    return overlap.n_unpaired(other="absent"), overlap.n_unpaired(baseline="absent")


def test_equal_questions_under_other_ids_are_paired_by_content_and_it_is_said(stored):
    before = stored(countries("abcdef"), 2)
    after = stored(list(reversed(countries("uvwxyz"))), 5)
    comparison = pair(before, after)
    assert (comparison.overlap.aligned, comparison.overlap.n_paired) == ("content", 6)
    assert comparison.headline.table == (2, 3, 0, 1)
    assert "share none of their samples' ids, so samples with equal content are paired" in comparison.warnings[0]
    assert comparison.changed.improvements == ("c", "d", "e")
    assert comparison.changed.other_ids == {"c": "w", "d": "x", "e": "y"}
    assert comparison.overlap.changed_content == 0


def test_ids_are_kept_where_the_user_says_so(stored):
    comparison = pair(stored(countries("abcdef"), 2), stored(countries("uvwxyz"), 5), align_by="id")
    assert (comparison.overlap.aligned, comparison.overlap.n_paired, comparison.verdict) == ("id", 0, "none")
    assert alone(comparison) == (6, 6)


def test_shared_ids_decide_although_contents_would_do_as_well(stored):
    comparison = pair(stored(countries("abcdef"), 2), stored(countries("abcdef"), 5))
    assert (comparison.overlap.aligned, comparison.overlap.n_paired, comparison.warnings) == ("id", 6, ())


def test_ids_that_name_other_questions_are_paired_as_told_and_warned_of_with_the_way_out(stored):
    """A dataset that is numbered by line and was sorted again: every id is there, and none is the same question."""
    moved = [*list(CAPITALS)[1:], "France"]
    after = [Sample(ident, country, CAPITALS[country]) for ident, country in zip("abcdef", moved, strict=True)]
    runs = stored(countries("abcdef"), 3), stored(after, 3)
    comparison = pair(*runs)
    assert (comparison.overlap.aligned, comparison.overlap.changed_content) == ("id", 6)
    assert comparison.warnings[0].startswith("6 samples kept the id but changed content between the runs.")
    assert "--align content" in comparison.warnings[0]
    assert pair(*runs, align_by="content").headline.table == (3, 0, 0, 3)


def test_a_key_of_the_metadata_pairs_what_has_the_same_value_there(stored):
    before = stored(countries("abcdef", iso=[10, 11, 12, 13, 14, 15]), 6)
    after = stored(countries("uvwxyz", iso=[15, 14, 13, 12, 11, None]), 1)
    comparison = pair(before, after, align_by="iso")
    assert (comparison.overlap.aligned, comparison.overlap.n_paired) == ("iso", 5)
    assert alone(comparison) == (1, 1)
    assert comparison.changed.regressions == ("b", "c", "d", "e")
    assert comparison.changed.other_ids["b"] == "y"
    assert comparison.overlap.changed_content == 5  # 11 is Italy in the one and Kenya in the other, and so on
    assert "5 samples kept the iso but changed content between the runs." in comparison.warnings


def test_a_key_that_does_not_tell_samples_apart_is_refused_with_both_ids(stored):
    runs = [stored(countries("abcdef", iso=[1, 2, 2, 3, 4, 5]), 2) for _ in range(2)]
    with pytest.raises(ConfigError, match=r"samples b and c of target \(.*\) both have '2' there"):
        compare(*runs, align_by="iso")


def test_a_key_that_no_sample_has_is_refused_with_the_nearest(stored):
    runs = [stored(countries("abcdef", code=list("123456")), 2) for _ in range(2)]
    with pytest.raises(ConfigError, match=r"has 'cod' in its metadata: did you mean 'code'\?"):
        compare(*runs, align_by="cod")
    with pytest.raises(ConfigError, match="they have no metadata"):
        compare(*[stored(countries("abcdef"), 2) for _ in range(2)], align_by="code")


def test_a_question_that_stands_twice_is_paired_in_order(stored):
    twice = [Sample("a", "France", "Paris"), Sample("b", "France", "Paris"), Sample("c", "Italy", "Rome")]
    again = [Sample("x", "Italy", "Rome"), Sample("y", "France", "Paris"), Sample("z", "France", "Paris")]
    comparison = pair(stored(twice, 0), stored(again, 1))
    assert (comparison.overlap.n_paired, comparison.changed.improvements) == (3, ("a", "b"))
    assert comparison.changed.other_ids == {"a": "y", "b": "z"}
    assert "1 question occurs more than once in a run; they are paired in order." in comparison.warnings


def test_a_sample_with_another_reference_is_no_equal_content(stored):
    other = [Sample(ident, country, "elsewhere") for ident, country in zip("uvwxyz", CAPITALS, strict=True)]
    assert pair(stored(countries("abcdef"), 2), stored(other, 2), align_by="content").overlap.n_paired == 0


def test_changes_between_runs_with_other_ids_show_both_answers(stored):

    runs = stored(countries("abcdef"), 2), stored(countries("uvwxyz"), 4)
    changes = changed_samples(runs, pair(*runs), most=10)
    assert [(change.sample, change.before, change.after) for change in changes] == [
        ("c", "no idea", "Madrid"),
        ("d", "no idea", "Lima"),
    ]


def test_replies_that_are_shared_are_found_under_other_ids_too(tmp_path):
    from steelyard import Prompt
    from steelyard.evaluation import evaluate_suite
    from steelyard.evaluation.evaluate import RunConfig
    from steelyard.evaluation.objects import Suite
    from steelyard.models.scripted import Scripted

    model = Scripted(default="Paris")
    suite = Suite(
        "s", "custom", countries("abcdef"), dict.fromkeys("mn", Prompt(model, "{{question}}")), (ExactMatch(),)
    )
    runs = evaluate_suite(suite, how=RunConfig(store=tmp_path / "store.db"))
    assert pair(*runs).overlap.shared_replies == 6
    assert pair(*runs, align_by="content").overlap.shared_replies == 6


def test_a_run_that_is_not_stored_is_held_against_a_stored_one_by_the_same_hashes(stored):
    """A baseline kept in a file has hashes and no journal."""

    samples = countries("abcdef")
    changed = [Sample("a", "Chad", "Paris"), *samples[1:]]
    kept = replace(stored(samples, 2).data(), target="kept", records=None, bodies=None)
    assert pair(kept, stored(samples, 5)).overlap.changed_content == 0
    comparison = pair(kept, stored(changed, 5))
    overlap = comparison.overlap
    assert (overlap.changed_content, overlap.n_unpaired(other="changed"), overlap.n_paired) == (1, 1, 5)
    assert comparison.further.costs == ()
    assert pair(kept, stored(samples, 5), align_by="content").overlap.n_paired == 6
    assert pair(kept, stored(changed, 5), align_by="content").overlap.n_paired == 5


def test_samples_that_a_version_changed_are_left_out_and_counted(stored):
    before = countries("abcdef")
    after = [Sample("a", "France", "Lutetia"), *before[1:5], Sample("g", "Chad", "N'Djamena")]
    runs = stored(before, 3), stored(after, 3)
    comparison = pair(*runs)
    assert (comparison.overlap.n_paired, comparison.overlap.changed_content) == (4, 1)
    assert comparison.overlap.unpaired == (
        ("changed", "changed", 1, ("a",)),
        ("scored", "absent", 1, ("f",)),
        ("absent", "scored", 1, ("g",)),
    )
    assert alone(comparison) == (1, 1)
    assert comparison.headline.difference == 0  # France was right before, and not by the new reference
    assert "1 sample kept the id but changed content between the runs and is left out" in " ".join(comparison.warnings)
    by_id = pair(*runs, align_by="id")
    assert (by_id.overlap.n_paired, by_id.overlap.changed_content, by_id.overlap.unpaired[0].other) == (5, 1, "absent")
    assert by_id.changed.regressions == ("a",)


def test_a_group_or_a_place_that_moved_changes_no_content(stored):
    before = countries("abcdef", position=list(range(6)))
    after = [Sample(each.id, each.input, each.reference, group="g", metadata={"position": 9}) for each in before]
    comparison = pair(stored(before, 3), stored(after, 3))
    assert (comparison.overlap.n_paired, comparison.overlap.changed_content, comparison.warnings) == (6, 0, ())


def test_runs_of_one_file_stay_paired_although_a_suite_changed_its_samples(tmp_path):
    from steelyard.evaluation import evaluate_suite
    from steelyard.evaluation.evaluate import RunConfig
    from steelyard.evaluation.objects import Suite

    source = {"file": {"file": "a.csv", "digest": "12"}}
    before = countries("abcdef")
    changed = [Sample("a", "France?", "Paris"), *before[1:]]
    runs = [
        evaluate_suite(
            Suite("s", "custom", samples, {"t": lambda _: "Paris"}, (ExactMatch(),), source=source),
            how=RunConfig(store=tmp_path / "store.db"),
        )[0]
        for samples in (before, changed)
    ]
    comparison = pair(*runs)
    assert (comparison.overlap.n_paired, comparison.overlap.changed_content, comparison.overlap.unpaired) == (6, 1, ())
