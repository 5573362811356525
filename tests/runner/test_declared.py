"""Declarations of a target or scorer, what holds without it, and scorers written for version 0.1."""

from __future__ import annotations

import functools
import operator

import pytest

import steelyard
from steelyard import Choice, ConfigError, ExactMatch, Judge, Output, Sample, Score, ScoreInfo, Scripted, evaluate
from steelyard.runner import Step, score_infos, stage_info, stage_name
from steelyard.runner.declared import bound_by_name
from steelyard.scorers import Correctness, Retrieval, TableMetrics
from steelyard.scorers.judges.judge import with_judges
from steelyard.types import StageInfo

SAMPLE = Sample("s", "Which?", "B", metadata={"level": 2})
OUTPUT = Output("A", contexts=("a passage",))


def plain(sample, output):
    return 1.0


class Declared:
    score_infos = (ScoreInfo("tone", (1, 5), threshold=4),)
    stage_info = StageInfo(inline=True, mock_reply="5")

    def __call__(self, sample, output):
        return 4.0


def test_without_a_declaration_a_scorer_has_one_score_called_like_it_and_the_defaults():
    assert stage_name(plain) == "plain"
    assert score_infos(plain, "plain") == (ScoreInfo("plain"),)
    assert stage_info(plain) == StageInfo()


def test_a_declaration_is_taken_as_it_is():
    assert score_infos(Declared(), "any") == Declared.score_infos
    assert stage_info(Declared()) is Declared.stage_info
    assert stage_name(Declared()) == "tone"


@pytest.mark.parametrize(
    ("scorer", "name"),
    [
        (ExactMatch(), "exact_match"),
        (Choice(), "solve_rate"),
        (Choice(also_scored=("last_letter",)), "solve_rate"),
        (Retrieval(), "retrieval"),
        (TableMetrics(metrics=("cell_recall",)), "tables"),
    ],
)
def test_stages_keep_their_names_whatever_scores_are_asked_for(scorer, name):
    assert stage_name(scorer) == name


def with_infos(infos):
    def scorer(sample, output):
        return 1.0

    scorer.score_infos = infos
    return scorer


@pytest.mark.parametrize("infos", [(), ScoreInfo("a"), "a", ("a",), [ScoreInfo("a"), None], 3])
def test_a_declaration_that_is_none_says_what_is_expected(infos):
    with pytest.raises(ConfigError, match=r"scorer: score_infos must be a tuple of ScoreInfo, such as \(ScoreInfo\("):
        score_infos(with_infos(infos), "scorer")


def test_a_stage_info_that_is_none_says_what_is_expected():
    def target(sample):
        return "yes"

    target.stage_info = {"inline": True}
    with pytest.raises(ConfigError, match=r"target: stage_info must be a StageInfo, not \{'inline': True\}"):
        Step.of("target", target)


def test_a_declaration_that_cannot_be_made_of_wrong_options_is_a_configuration_error():
    class Broken:
        @property
        def score_infos(self):
            return (ScoreInfo("a", (min(()), 1)),)

        def __call__(self, sample, output):
            return 1.0

    with pytest.raises(ConfigError, match="Broken"):
        stage_name(Broken())


@pytest.mark.parametrize(
    ("value", "passed"),
    [(4.0, True), (3.9, False), (Score("tone", 3.0), False), (Score("tone", 3.0, passed=True), True)],
)
def test_a_score_passes_by_the_declared_threshold_unless_it_says_so_itself(value, passed):
    (score,) = Step.of("tone", Declared()).scores(value)
    assert score.passed is passed


def test_where_lower_is_better_a_score_passes_at_the_threshold_and_below():
    step = Step.of("n", with_infos((ScoreInfo("n", lower_is_better=True, threshold=2),)))
    assert [step.scores(value)[0].passed for value in (1, 2, 3)] == [True, True, False]


def test_a_score_without_a_value_or_a_threshold_neither_passes_nor_fails():
    unread = Score("tone", None, outcome="unparsed")
    assert Step.of("tone", Declared()).scores(unread) == [unread]
    assert Step.of("plain", plain).scores(1.0) == [Score("plain", 1.0)]


def test_a_number_is_the_only_declared_score_whatever_its_stage_is_called():
    scorer = with_infos((ScoreInfo("tone", (0, 1)),))
    scorer.stage_info = StageInfo(name="by ear")
    assert Step.of(stage_name(scorer), scorer).scores(0.5) == [Score("tone", 0.5)]
    second = with_infos((ScoreInfo("tone"), ScoreInfo("tact")))
    assert Step.of("scorer", second).scores(0.5) == [Score("scorer", 0.5)]


@pytest.mark.parametrize(
    ("declared", "passed"),
    [({}, [False, True]), ({"lower_is_better": True}, [True, False]), ({"threshold": 0.0}, [True, True])],
)
def test_a_truth_value_passes_in_the_declared_direction(declared, passed):
    step = Step.of("toxic", with_infos((ScoreInfo("toxic", (0, 1), **declared),)))
    assert [step.scores(value)[0].passed for value in (False, True)] == passed


def test_a_stored_run_knows_what_passed_by_a_declared_threshold():
    run = evaluate(lambda sample: "x" * int(sample.id), [Sample("1", "?"), Sample("3", "?")], [length])
    assert [record.scores[0].passed for record in run.records()] == [True, False]
    assert run.score_infos == {"length": length.score_infos[0]}


def length(sample, output):
    return len(output.value)


length.score_infos = (ScoreInfo("length", (0, 10), lower_is_better=True, threshold=2),)


class Judged:
    """A scorer with a judge, as those of the package have one."""

    score_infos = (ScoreInfo("tone", (1, 5), threshold=4), ScoreInfo("polite", rates="manners"))

    def __init__(self, name):
        self.judge = Judge(name=name)

    def __call__(self, sample, output):
        return [Score("tone", 4.0, detail={"columns": {"tone_reason": "kind"}}), Score("polite", 1.0)]


def test_a_named_judge_names_its_stage_and_scores_and_what_they_rate():
    scorer = Judged("strict")
    stage = stage_name(scorer)
    assert stage == "Judged_strict"
    infos = score_infos(scorer, stage)
    assert [(info.name, info.rates) for info in infos] == [("tone_strict", "tone"), ("polite_strict", "manners")]
    tone, polite = Step.of(stage, scorer).scores(scorer(None, None))
    assert (tone.name, tone.passed, tone.detail["columns"]) == ("tone_strict", True, {"tone_reason_strict": "kind"})
    assert polite.name == "polite_strict"


def test_a_judge_without_a_name_changes_no_name():
    scorer = Judged("")
    assert [info.name for info in score_infos(scorer, stage_name(scorer))] == ["tone", "polite"]
    assert Step.of("x", scorer).scores(scorer(None, None))[0].name == "tone"


def test_a_name_that_no_score_could_have_is_refused():
    for name in ("two words", " ", "a/b", 5):
        with pytest.raises(ConfigError, match=r"expected letters, digits, -, _ and \. for a judge's name, but got"):
            Judge(Scripted("5"), name=name)
    assert Judge(Scripted("5"), name="严格-1.5_b").name == "严格-1.5_b"
    with pytest.raises(ConfigError, match=r"^judges: expected letters, .* but got 'two words'"):
        with_judges([Correctness()], {"two words": Judge(Scripted("5"))})


def output_first(output, expected):
    return (output, expected)


def turned(expected, output):
    return (output, expected)


def every(input, metadata, reference, output):  # noqa: A002
    return (input, metadata, reference, output)


def keywords(*, output, expected):
    return (output, expected)


def by_position(output, expected, /):
    return (output, expected)


def with_default(output, strict=True, expected=None):  # noqa: FBT002
    return (output, strict, expected)


def only_output(output):
    return output


def only_sample(sample):
    return sample


def objects(sample, output):
    return (sample, output)


def objects_turned(output, sample):
    return (sample, output)


def objects_and_values(sample, output, expected):
    return (sample, output, expected)


def other_word(sample, answer):
    return (sample, answer)


def objects_by_keyword(*, sample, output):
    return (sample, output)


def annotated(s: Sample, o: Output):
    return (s, o)


def annotated_by_text(o: steelyard.Output, s: steelyard.Sample):
    return (s, o)


def annotated_output(output: Output, expected):
    return (output, expected)


def anything(*values):
    return values


class WithCall:
    def __call__(self, output, expected):
        return (output, expected)


@pytest.mark.parametrize(
    ("scorer", "given"),
    [
        (output_first, ("A", "B")),
        (turned, ("A", "B")),
        (every, ("Which?", {"level": 2}, "B", "A")),
        (keywords, ("A", "B")),
        (by_position, ("A", "B")),
        (with_default, ("A", True, "B")),
        (only_output, "A"),
        (functools.partial(output_first, expected="C"), ("A", "C")),
        (WithCall(), ("A", "B")),
        (only_sample, SAMPLE),
        (objects, (SAMPLE, OUTPUT)),
        (objects_turned, (SAMPLE, OUTPUT)),
        (objects_and_values, (SAMPLE, OUTPUT, "B")),
        (objects_by_keyword, (SAMPLE, OUTPUT)),
        (other_word, (SAMPLE, OUTPUT)),
        (annotated, (SAMPLE, OUTPUT)),
        (annotated_by_text, (SAMPLE, OUTPUT)),
        (annotated_output, (OUTPUT, "B")),
        (anything, (SAMPLE, OUTPUT)),
    ],
)
def test_a_scorer_is_given_what_its_parameters_name(scorer, given):
    assert bound_by_name("own", scorer)(SAMPLE, OUTPUT) == given


def test_the_usual_scorer_is_called_without_a_step_between():
    assert bound_by_name("objects", objects) is objects
    match = ExactMatch()
    assert bound_by_name("exact_match", match) is match


@pytest.mark.parametrize(
    ("scorer", "word"),
    [
        (lambda output, target: output == target, "target"),
        (lambda o, e: o == e, "o"),
        (lambda outputs: True, "outputs"),
        (operator.eq, "a"),
        (lambda sample, answer, mark: True, "answer"),
    ],
)
def test_a_parameter_that_nothing_is_given_for_is_refused_before_the_first_call(scorer, word, tmp_path):
    asked = []
    with pytest.raises(ConfigError, match=rf"parameter '{word}'.*\(output, expected\)"):
        evaluate(asked.append, [SAMPLE], [scorer], store=tmp_path / "s.db")
    assert asked == []
    assert not (tmp_path / "s.db").exists()


def test_a_word_that_is_nearly_right_is_named():
    with pytest.raises(ConfigError, match="did you mean 'output'"):
        bound_by_name("near", lambda outputs, expected: True)


def test_plain_values_are_scored_with_and_without_a_model(tmp_path):
    def same(output, expected):
        return output == expected

    async def awaited(output, expected, ask):
        return Score("awaited", float(output == expected and ask is not None))

    class Close:
        async def __call__(self, *, output, expected):
            return Score("close", float(output == expected))

    samples = [Sample("a", "1+1?", "2"), Sample("b", "1+2?", "3")]
    run = evaluate(lambda sample: "2", samples, [same, awaited, Close()], store=tmp_path / "s.db")
    values = {record.sample.id: [score.value for score in record.scores] for record in run.records()}
    assert values == {"a": [1.0, 1.0, 1.0], "b": [0.0, 0.0, 0.0]}
