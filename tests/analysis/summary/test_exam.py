"""What stands beside the mean of an exam: chance, letters, rotations and repeats, by hand and against oracles."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from statsmodels.stats.contingency_tables import cochrans_q

from steelyard.analysis.scores.score_columns import NO_DETAIL, ScoreColumns, ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.summary.exam import CAUTION, examined
from steelyard.plain_json import json_value
from steelyard.stats.intervals import wilson, wilson_clustered
from steelyard.types import ScoreInfo

NAME = "solve_rate"
LETTERS = "ABCDEFGHIJ"


def reply(sample, read, wanted="A", *, options=4, cluster="", repeat=0, group="", outcome="", **kept):
    """A row and what was kept: `read` None is a reply from which nothing was read."""
    outcome = outcome or ("unparsed" if read is None else "scored")
    value = float(read == wanted) if outcome == "scored" else None
    confidence = {"confidence": "inferred"} if kept.pop("inferred", False) else {}
    detail = {"letters": read or "", "wanted": wanted, "options": options, **confidence, **kept}
    detail = NO_DETAIL if outcome == "error" else detail
    return ScoreRow(str(sample), group, cluster, repeat, NAME, outcome, value, detail)


def exam_of(replies, denominator="all"):
    columns = ScoreColumns.of(replies)
    (score,), _ = summarize(columns, infos={NAME: ScoreInfo(NAME, denominator=denominator)})
    return examined(columns, score)


def rotated(question, read, *, options=4, repeat=0):
    """Replies to all rotations of a question whose key is the dataset's A; `read` are letters of the dataset's own."""
    collected = []
    for turn in range(options):
        order = LETTERS[turn:options] + LETTERS[:turn]
        own = read[turn]
        shown = None if own is None else LETTERS[order.index(own)]
        collected.append(
            reply(
                f"{question}@{turn + 1}", shown, LETTERS[order.index("A")], options=options, cluster=question,
                repeat=repeat, original=own or "",
            )
        )  # fmt: skip
    return collected


@pytest.mark.parametrize(("right", "corrected"), [(80, 29.4), (116, 57.6), (121, 61.6)])
def test_a_published_benchmark_of_170_questions_beyond_chance(right, corrected):
    exam = exam_of([reply(no, "A" if no < right else "B") for no in range(170)])
    assert exam.chance == 0.25
    assert round(100 * exam.corrected.value, 1) == corrected
    low, high = wilson(right, 170)
    assert tuple(exam.corrected.interval) == pytest.approx(((low - 0.25) / 0.75, (high - 0.25) / 0.75))


def test_chance_is_the_mean_over_questions_and_several_letters_are_hard_to_guess():
    exam = exam_of([reply(1, "A"), reply(2, "A", options=2), reply(3, "AC", "AC", options=3)])
    assert exam.chance == pytest.approx((1 / 4 + 1 / 2 + 1 / 7) / 3)


def test_chance_is_not_told_where_options_were_not_kept():
    exam = exam_of([reply(1, "A"), reply(2, "A", options=0)])
    assert (exam.chance, exam.corrected) == (None, None)


def test_guessing_is_zero_and_less_than_guessing_is_below():
    assert exam_of([reply(no, "ABCD"[no % 4]) for no in range(40)]).corrected.value == pytest.approx(0)
    assert exam_of([reply(no, "B") for no in range(4)]).corrected.value == pytest.approx(-1 / 3)


def test_what_does_not_apply_or_failed_is_in_no_figure():
    replies = [reply(1, "A"), reply(2, None, outcome="not_applicable"), reply(3, None, outcome="error")]
    exam = exam_of(replies)
    assert (exam.questions, exam.corrected.n, exam.queue) == (1, 1, {})


def test_the_queue_counts_inferred_several_unparsed_and_refused_replies():
    replies = [
        reply(1, "A", inferred=True),
        reply(2, None, kind="several"),
        reply(3, None, kind="truncated"),
        reply(4, None, kind="none"),
        reply(5, None, outcome="refused"),
        reply(6, "A"),
    ]
    assert exam_of(replies).queue == {"inferred": 1, "several": 1, "unparsed": 2, "refused": 1}


def test_recall_by_letter_counts_key_chosen_and_solved():
    replies = [
        reply(1, "A"),
        reply(2, "B"),
        reply(3, None),
        reply(4, "B", "B"),
        reply(5, "B", "B"),
        reply(6, "AC", "AC"),
    ]
    first, second, *_ = exam_of(replies).letters.letters
    assert (first.letter, first.key, first.chosen, first.recall.value) == ("A", 3, 1, 1 / 3)
    assert (second.letter, second.key, second.chosen, second.recall.value) == ("B", 2, 3, 1.0)
    assert first.recall.interval == wilson(1, 3)


def test_spread_and_deviation_are_of_the_recalls():
    replies = [reply(no, "A" if no % 10 < 8 else "B") for no in range(20)]
    replies += [reply(20 + no, "B" if no % 10 < 4 else "A", "B") for no in range(20)]
    bias = exam_of(replies).letters
    assert (bias.spread, bias.deviation) == pytest.approx((0.4, 0.2))
    oracle = chi2_contingency([[16, 8], [4, 12]], correction=False)
    assert (bias.test, bias.p) == ("chi-squared", pytest.approx(oracle.pvalue))


def test_letters_of_an_exam_in_its_own_order_are_shown_with_a_caution():
    in_order = [reply(no, "A", "AB"[no % 2]) for no in range(40)]
    assert exam_of(in_order).letters.caution == CAUTION
    shuffled = [row._replace(detail={**row.detail, "original": row.detail["letters"]}) for row in in_order]
    assert exam_of(shuffled).letters.caution == ""


def test_with_rotations_recall_is_compared_within_questions():
    """A model that finds the key at the first place more often; Cochran's Q is that of statsmodels."""
    rng = np.random.default_rng(1)
    table = (rng.random((60, 4)) < [0.9, 0.6, 0.6, 0.6]).astype(int)  # by turn: the key stands at A, D, C, B
    replies = [
        turn for no, row in enumerate(table) for turn in rotated(f"q{no}", ["A" if right else "B" for right in row])
    ]
    bias = exam_of(replies).letters
    oracle = cochrans_q(table)
    assert (bias.test, bias.moved, bias.questions, bias.caution) == ("Cochran's Q", 60, 60, "")
    assert (bias.statistic, bias.p) == pytest.approx((oracle.statistic, oracle.pvalue))
    assert bias.letters[0].recall.value == pytest.approx(table[:, 0].mean())


def test_fewer_than_two_letters_as_key_say_nothing_of_position():
    assert exam_of([reply(no, "A") for no in range(4)]).letters is None


def test_rotations_are_one_question_and_all_have_to_be_right():
    replies = [*rotated("q1", "AAAA"), *rotated("q2", "AAAB"), *rotated("q3", "BBBA"), *rotated("q4", "AABB")]
    exam = exam_of(replies)
    rotations = exam.rotations
    assert (exam.questions, rotations.questions, rotations.orders, rotations.incomplete) == (4, 4, 4, 0)
    assert (rotations.all_right.value, rotations.all_right.interval) == (1 / 4, wilson(1, 4))
    assert (rotations.majority.value, rotations.tied) == (2 / 4, 1), "q4 is level, and so has no most frequent answer"


def test_a_majority_is_found_by_the_datasets_own_letters():
    """The model always says A: four different answers, one of which is right, and no majority."""
    always_a = [LETTERS[turn] for turn in range(4)]
    rotations = exam_of(rotated("q1", always_a)).rotations
    assert (rotations.all_right.value, rotations.majority.value, rotations.tied) == (0, 0, 1)


def test_unread_replies_are_no_answer_but_keep_a_question_from_being_all_right():
    rotations = exam_of(rotated("q1", ["A", "A", None, None])).rotations
    assert (rotations.all_right.value, rotations.majority.value) == (0, 1)


def test_a_question_of_which_an_order_failed_is_left_out():
    replies = [*rotated("q1", "AAAA"), *rotated("q2", "AAAA")[:3], reply("q2@4", None, cluster="q2", outcome="error")]
    rotations = exam_of(replies).rotations
    assert (rotations.questions, rotations.incomplete, rotations.all_right.n) == (1, 1, 1)


def test_ids_with_a_number_behind_an_at_sign_are_no_rotations_without_an_order():
    assert exam_of([reply("ann@1", "A"), reply("ann@2", "A")]).rotations is None


def test_repeats_flip_where_the_read_answers_differ():
    answers = {"q1": "AAAA", "q2": "AAAB", "q3": "AABB", "q4": ["A", "A", None, None], "q5": ["B", None, None, None]}
    replies = [
        reply(sample, read, repeat=repeat) for sample, several in answers.items() for repeat, read in enumerate(several)
    ]
    repeats = exam_of(replies).repeats
    assert (repeats.samples, repeats.repeats) == (4, 4), "of q5 one answer alone was read"
    assert (repeats.flipped.value, repeats.flipped.interval) == (2 / 4, wilson(2, 4))
    assert repeats.off == pytest.approx((0 + 1 / 4 + 1 / 2 + 0) / 4)
    assert (repeats.majority.value, repeats.majority.n, repeats.tied) == (3 / 5, 5, 1)


def test_a_run_without_repeats_has_no_flip_rate():
    assert exam_of([reply(1, "A"), reply(2, "B")]).repeats is None


def test_repeats_of_rotations_are_one_cluster_in_every_interval():
    replies = [
        row
        for no in range(12)
        for repeat in range(2)
        for row in rotated(f"q{no}", ["A" if (no + turn + repeat) % 3 else "B" for turn in range(4)], repeat=repeat)
    ]
    exam = exam_of(replies)
    assert exam.questions == 12
    values = [float(row.value) for row in replies]
    units = [row.cluster for row in replies]
    low, high = wilson_clustered(values, clusters=units)
    assert tuple(exam.corrected.interval) == pytest.approx(((low - 0.25) / 0.75, (high - 0.25) / 0.75))
    assert exam.repeats.samples == 48
    assert exam.rotations.all_right.n == 24


def test_over_what_was_scored_leaves_unread_replies_out_everywhere():
    exam = exam_of([reply(1, "A"), reply(2, None), reply(3, "B", "B", options=2)], denominator="answered")
    assert (exam.questions, exam.chance) == (2, 3 / 8)


def test_it_is_plain_json():
    exam = exam_of([*rotated("q1", "AAAB"), *rotated("q1", "AABB", repeat=1)])
    plain = json.loads(json.dumps(json_value(exam)))
    assert plain["rotations"]["all_right"]["n"] == 2
    assert plain["letters"]["letters"][0]["letter"] == "A"
    assert set(plain) == {
        "score",
        "questions",
        "chance",
        "corrected",
        "letters",
        "rotations",
        "repeats",
        "queue",
        "points",
    }


def test_macro_and_micro_averages_differ_where_groups_differ_in_size():
    rows = [reply(no, "A" if no < 90 else "B", group="large") for no in range(100)]
    rows += [reply(100 + no, "B", group="small") for no in range(10)]
    (score,), groups = summarize(rows)
    assert (score.headline.value, score.macro.value, score.macro.n) == (pytest.approx(90 / 110), 0.45, 2)
    assert score.macro.interval.low < 0.45 < score.macro.interval.high
    assert [group.macro for group in groups[NAME]] == [None, None]


def test_there_is_no_macro_average_of_one_group():
    rows = [reply(no, "A", group="only") for no in range(3)] + [reply(9, None, group="x", outcome="error")]
    (score,), _ = summarize(rows)
    assert score.macro is None, "the other group has no value"


one_reply = st.tuples(
    st.integers(0, 5), st.integers(0, 2),
    st.sampled_from([None, "", "A", "B", "AC"]), st.sampled_from(["A", "B", "AB"]),
    st.integers(0, 5), st.sampled_from(["", "scored", "unparsed", "refused", "error", "not_applicable"]),
    st.sampled_from([{}, {"original": ""}, {"original": "A"}, {"original": "B"}]),
)  # fmt: skip


@given(st.lists(one_reply, max_size=30))
def test_whatever_comes_in_every_share_is_a_share(drawn):
    replies = []
    for no, repeat, read, wanted, options, outcome, own in drawn:
        kept = outcome or ("unparsed" if read is None else "scored")
        replies.append(reply(f"q{no % 3}@{no}", read if kept == "scored" else None, wanted, options=options,
                             cluster=f"q{no % 3}", repeat=repeat, outcome=kept, **own))  # fmt: skip
    if not any(row.outcome in {"scored", "unparsed", "refused"} for row in replies):
        return
    exam = exam_of(replies)
    means = [exam.rotations and exam.rotations.all_right, exam.rotations and exam.rotations.majority]
    means += [exam.repeats and exam.repeats.flipped, exam.repeats and exam.repeats.majority]
    means += [letter.recall for letter in exam.letters.letters] if exam.letters else []
    for mean in means:
        if mean and mean.value is not None:
            assert 0 <= mean.interval.low <= mean.value + 1e-9
            assert mean.value - 1e-9 <= mean.interval.high <= 1
    if exam.letters:
        assert 0 < exam.letters.p <= 1
    assert "nan" not in repr(exam)
