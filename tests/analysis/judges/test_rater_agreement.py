"""Judges and people who rate the same thing: who counts as a rater, what is paired, and which coefficients fit."""

from datetime import UTC, datetime

import pytest

from steelyard import ConfigError, Label, Sample, Scripted, evaluate
from steelyard.analysis import agreement
from steelyard.analysis.judges.rater_agreement import agreements
from steelyard.analysis.scores.score_columns import ScoreColumns, ScoreRow
from steelyard.plain_json import json_value
from steelyard.scorers import Correctness
from steelyard.scorers.judges.judge import Judge
from steelyard.stats import cohen_kappa, krippendorff_alpha, pearson, spearman
from steelyard.types import ScoreInfo

AT = datetime(2026, 3, 1, tzinfo=UTC)
SAMPLES = [Sample(f"q{number}", f"question {number:02}", "the answer") for number in range(12)]
LARGE = [5, 4, 4, 2, 1, 3, 5, 5, 2, 4, 1, 3]
SMALL = [4, 4, 3, 2, 1, 2, 5, 4, 1, 4, 2, 3]


def judge(name, ratings):
    return Judge(
        Scripted({sample.input: str(rating) for sample, rating in zip(SAMPLES, ratings, strict=True)}), name=name
    )


def columns(scores, *, clusters=(), repeats=1):
    """Columns of scores by name, a value per sample, None where it was not parsed."""
    samples = range(len(next(iter(scores.values()))) // repeats)
    return ScoreColumns.of(
        ScoreRow(
            f"q{sample}",
            "",
            clusters[sample] if clusters else "",
            repeat,
            name,
            "unparsed" if values[sample * repeats + repeat] is None else "scored",
            values[sample * repeats + repeat],
        )
        for sample in samples
        for repeat in range(repeats)
        for name, values in scores.items()
    )


def infos(*names, rates="correct", limits=(0, 1)):
    return {name: ScoreInfo(name, limits, rates=rates) for name in names}


def labels(author, values, name="correct"):
    return [Label(f"q{number}", name, value, author, AT) for number, value in enumerate(values)]


class TestTwoJudgesInASuite:
    @pytest.fixture
    def run(self, tmp_path):
        scorers = [Correctness(judge("large", LARGE)), Correctness(judge("small", SMALL))]
        return evaluate(lambda sample: "an answer", SAMPLES, scorers, store=tmp_path / "s.db")

    def test_each_score_ends_in_its_judges_name(self, run):
        names = ["correctness_large", "correct_large", "correctness_small", "correct_small"]
        assert [score.name for score in run.summary().scores] == names
        record = next(run.records())
        assert list(record.scores[0].detail["columns"]) == ["correctness_reason_large"]
        assert record.scores[1].passed is True

    def test_their_means_and_coefficients_stand_in_the_summary(self, run):
        ratings = next(found for found in run.summary().raters.agreement if found.rated == "correctness")
        assert [(rater.name, rater.mean.value) for rater in ratings.raters] == [
            ("correctness_large", pytest.approx(sum(LARGE) / 12)),
            ("correctness_small", pytest.approx(sum(SMALL) / 12)),
        ]
        (pair,) = ratings.pairs
        assert pair.coefficients == (
            cohen_kappa(LARGE, SMALL, weights="quadratic"), spearman(LARGE, SMALL), pearson(LARGE, SMALL),
        )  # fmt: skip
        assert ratings.alpha == krippendorff_alpha([LARGE, SMALL], scale="ordinal")
        assert pair.equal == pytest.approx(6 / 12)

    def test_agreement_of_two_scores_by_name_is_the_same(self, run):
        found = agreement(run, scores=["correctness_large", "correctness_small"])
        assert found.pairs == next(of for of in run.summary().raters.agreement if of.rated == "correctness").pairs

    def test_a_score_of_two_runs_is_paired_by_sample(self, run, tmp_path):
        later = evaluate(
            lambda sample: "an answer", SAMPLES[3:], [Correctness(judge("small", SMALL))], store=tmp_path / "other.db"
        )
        with pytest.raises(ConfigError, match=r"did you mean .correctness_small."):
            agreement(run, later, scores=["correctness_smal"])
        found = agreement(run, later, scores=["correctness_small"])
        assert (found.pairs[0].n, found.pairs[0].one_only, found.pairs[0].equal) == (9, 3, 1.0)

    def test_one_rater_alone_is_refused(self, run):
        with pytest.raises(ConfigError, match="two raters"):
            agreement(run)

    def test_json_holds_every_number(self, run):
        plain = json_value(run.summary())["agreement"]
        assert [found["rated"] for found in plain] == [found.rated for found in run.summary().raters.agreement]
        assert set(plain[0]["alpha"]) >= {"value", "interval", "n", "missing", "clusters", "resamples", "undefined"}
        assert set(plain[0]["raters"][0]["mean"]) == {"value", "interval", "n", "standard_error"}


class TestWhoIsARater:
    def test_scores_on_different_things_are_not_compared(self):
        scores = columns({"correct": [1, 0, 1], "faithful": [1, 1, 0]})
        assert agreements(scores, {"correct": ScoreInfo("correct"), "faithful": ScoreInfo("faithful")}) == ()

    def test_people_who_label_a_score_are_raters_beside_it(self):
        scores = columns({"correct": [1, 0, 1, 1]})
        (found,) = agreements(
            scores, infos("correct"), [*labels("ann", [True, False, True, False]), *labels("bob", ["pass", "fail"])]
        )
        assert [(rater.name, rater.kind, rater.n) for rater in found.raters] == [
            ("correct", "score", 4), ("ann", "label", 4), ("bob", "label", 2),
        ]  # fmt: skip
        assert [pair.n for pair in found.pairs] == [4, 2, 2]
        assert found.pairs[0].coefficients[0].value == cohen_kappa([1, 0, 1, 1], [1, 0, 1, 0]).value

    def test_a_label_of_one_judges_score_is_a_rating_of_the_same_thing(self):
        scores = columns({"correct_a": [1, 0], "correct_b": [1, 1]})
        (found,) = agreements(scores, infos("correct_a", "correct_b"), labels("ann", [1, 0], name="correct_a"))
        assert [rater.name for rater in found.raters] == ["correct_a", "correct_b", "ann"]

    def test_people_alone_agree_on_categories(self):
        scores = columns({"exact_match": [1, 0, 1]})
        said = [*labels("ann", ["unit", "sign", "unit"], "cause"), *labels("bob", ["unit", "unit", "unit"], "cause")]
        (found,) = agreements(scores, {}, said)
        assert (found.rated, found.scale) == ("cause", "nominal")
        assert [rater.mean for rater in found.raters] == [None, None]
        assert found.pairs[0].equal == pytest.approx(2 / 3)

    def test_remarks_in_free_words_are_no_ratings(self):
        scores = columns({"exact_match": [1] * 25})
        said = [
            label for name in ("ann", "bob") for label in labels(name, [f"{name} {n}" for n in range(25)], "reason")
        ]
        assert agreements(scores, {}, said) == ()

    def test_comments_are_no_ratings_however_few(self):
        said = [
            Label("q1", "comment", text, author, AT, kind="text")
            for author, text in (("ann", "invented"), ("bob", "made up"))
        ]
        assert agreements(columns({"exact_match": [1, 0, 1]}), {}, said) == ()

    def test_an_author_named_as_the_score_stays_apart(self):
        (found,) = agreements(columns({"correct": [1, 0]}), infos("correct"), labels("correct", [1, 0]))
        assert [rater.name for rater in found.raters] == ["correct", "correct (label)"]

    def test_preferences_of_people_and_judges_are_the_side_that_wins(self):
        scores = columns({"preference": [1, 0.5, 0, 1]})
        (found,) = agreements(
            scores, infos("preference", rates="preference"), labels("ann", ["A", "tie", "B", "A"], "preference")
        )
        assert (found.scale, found.share, found.pairs[0].equal) == ("ordinal", True, 1.0)


class TestWhatIsPaired:
    def test_what_was_not_scored_is_left_out_and_counted(self):
        scores = columns({"correct_a": [1, 0, None, 1], "correct_b": [1, None, None, 0]})
        (found,) = agreements(scores, infos("correct_a", "correct_b"))
        assert (found.pairs[0].n, found.pairs[0].one_only) == (2, 1)

    def test_the_scale_decides_which_coefficients_are_given(self):
        def names(first, second):
            scores = columns({"a": first, "b": second})
            (found,) = agreements(scores, infos("a", "b", rates="x", limits=(0, 100)))
            return found.scale, [coefficient.name for coefficient in found.pairs[0].coefficients]

        assert names([1, 0, 1], [0, 0, 1]) == ("nominal", ["cohen_kappa"])
        assert names([1, 3, 5], [2, 3, 4]) == ("ordinal", ["cohen_kappa", "spearman", "pearson"])
        assert names([0.31, 0.72, 0.9], [0.2, 0.7, 0.8]) == ("interval", ["pearson", "spearman"])

    def test_repeats_and_clusters_are_resampled_together(self):
        first, second = LARGE[:6] * 2, SMALL[:6] * 2
        repeated = columns({"a": sorted(first), "b": sorted(second)}, repeats=2)
        (found,) = agreements(repeated, infos("a", "b", rates="x", limits=(1, 5)))
        assert (found.alpha.n, found.alpha.clusters) == (12, 6)
        (found,) = agreements(
            columns({"a": LARGE, "b": SMALL}, clusters="aaabbbcccddd"), infos("a", "b", rates="x", limits=(1, 5))
        )
        assert (found.alpha.n, found.alpha.clusters) == (12, 4)

    def test_a_run_that_a_rule_ended_has_no_intervals(self):
        (found,) = agreements(columns({"a": LARGE, "b": SMALL}), infos("a", "b", rates="x"), stopped=True)
        assert (found.alpha.interval, found.raters[0].mean.interval) == (None, None)
        assert found.alpha.value is not None
        assert "a rule ended the run early" in found.pairs[0].coefficients[0].reason
