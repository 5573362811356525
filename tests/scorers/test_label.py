"""The label that a reply gives of a closed set, and what counts as none."""

from __future__ import annotations

import pytest

from steelyard import ConfigError, Output, Sample, evaluate
from steelyard.constraints import check_options
from steelyard.evaluation.rescore import rescore
from steelyard.replies.label import closed_set, read_one
from steelyard.scorers import Contains, LabelMatch
from steelyard.store import Store

LABELS = ("billing", "bug", "feature_request", "account", "other")
READ = [
    ("billing", "billing"),
    ("The label is: Feature Request.", "feature_request"),
    ("feature-request", "feature_request"),
    ("**FEATURE_REQUEST**", "feature_request"),
    ('"Feature request"', "feature_request"),
    ('{"label": "feature_request"}', "feature_request"),
    ('```json\n{"label": "Bug"}\n```', "bug"),
    ("Category: **Account**", "account"),
    ("<think>billing?</think>bug", "bug"),
    ("The label is billing, not account.", "billing"),
    ("Answer: bug\n\nReason: the account shows it.", "bug"),
    ("标签：bug", "bug"),
    ("The user cannot log in, so the category is account.", "account"),
    ("This isn't billing, it's a bug.", "bug"),
    ("Category: bug\nSecondary category: billing", "bug"),
    ("billing\nWait, the correct label is: bug", "bug"),
    ("bug, bug, bug", "bug"),
]
UNREAD = [
    ("I am not sure, it could be several of these.", "ambiguous"),
    ("Bug. Wait, billing issue.", "ambiguous"),
    ("billing or account", "several"),
    ("billing, bug", "several"),
    ("Label: bug, billing", "several"),
    ("It is either a bug or a feature request.", "none"),
    ("It might be a bug.", "none"),
    ("The label is: bug. It could also be account.", "ambiguous"),
    ("The correct label is not bug.", "none"),
    ("The label can't be: bug", "none"),
    ("This should not be classified as a bug.", "none"),
    ("I don't think this is a bug.", "none"),
    ("It shouldn't be labelled bug.", "none"),
    ("Bug: no", "none"),
    ("Is it a bug? No.", "none"),
    ("不应归为bug", "none"),
    ("bug\n\nTicket: I paid twice.\nLabel: billing", "ambiguous"),
    ("1. bug\n2. billing\n3. other", "several"),
    ("spam", "none"),
    ("", "empty"),
]


@pytest.mark.parametrize(("reply", "label"), READ)
def test_a_label_is_read_however_it_is_written(reply, label):
    assert read_one(reply, LABELS)[0] == label


@pytest.mark.parametrize(("reply", "kind"), UNREAD)
def test_a_hedge_several_labels_and_no_label_are_not_read(reply, kind):
    assert read_one(reply, LABELS)[:2] == ("", kind)
    score = LabelMatch(LABELS)(Sample("1", "?", "bug"), Output(reply))
    assert (score.outcome, score.value, score.detail["wanted"]) == ("unparsed", None, "bug")


def test_the_labels_are_the_expected_outputs_of_the_dataset(tmp_path):
    samples = [Sample(str(no), "?", label) for no, label in enumerate(["bug", "account", "bug", "other"])]
    run = evaluate(lambda sample: f"Label: {sample.reference}", samples, [LabelMatch()], store=str(tmp_path / "s.db"))
    assert run.score_infos["accuracy"].classes == ("bug", "account", "other")
    assert run.manifest["scorers"]["accuracy"] == {"label": {"labels": ["bug", "account", "other"]}}
    assert run.summary().score("accuracy").headline.value == 1
    with Store(tmp_path / "s.db") as store:
        again, _ = rescore(store, store.run(run.id), [LabelMatch()])
        assert again.score_infos["accuracy"].classes == ("bug", "account", "other")


def test_an_unread_reply_is_wrong():
    replies = {"1": "bug", "2": "bug or other"}
    samples = [Sample("1", "?", "bug"), Sample("2", "?", "other")]
    summary = evaluate(lambda sample: replies[sample.id], samples, [LabelMatch()]).summary()
    assert (summary.score("accuracy").headline.value, summary.score("accuracy").unparsed) == (0.5, 1)


def test_a_reply_that_a_filter_stopped_is_in_the_confusion_matrix():
    stopped = Output("", metadata={"finish": "content_filter"})
    score = LabelMatch(LABELS)(Sample("1", "?", "bug"), stopped)
    assert (score.outcome, score.detail["wanted"]) == ("refused", "bug")
    assert LabelMatch(LABELS)(Sample("1", "?"), stopped).outcome == "not_applicable"
    samples = [Sample("1", "?", "bug"), Sample("2", "?", "other")]
    run = evaluate(lambda sample: "bug" if sample.id == "1" else stopped, samples, [LabelMatch()])
    [report] = run.summary().details.classifications
    assert report.confusion == ((1, 0, 0), (0, 0, 1))


def test_a_label_outside_of_the_set_is_refused_before_the_first_call():
    with pytest.raises(ConfigError, match="label: sample '7' expects 'bugs', which is not among labels: did you mean"):
        evaluate(lambda _: "bug", [Sample("7", "?", "bugs")], [LabelMatch(("bug", "other"))])


@pytest.mark.parametrize(
    ("labels", "message"),
    [(("bug",), "name 2 to 200"), (("bug", "Bug"), "two are written 'bug'"), (("bug", " "), "not blank")],
)
def test_labels_differ_and_are_not_blank(labels, message):
    with pytest.raises(ConfigError, match=message):
        check_options(LabelMatch(labels))


def test_expected_labels_that_differ_in_signs_of_markdown_are_refused_before_the_first_call():
    with pytest.raises(ConfigError, match="'C' and 'C#' are read as the same"):
        evaluate(lambda _: "C", [Sample("1", "?", "C"), Sample("2", "?", "C#")], [LabelMatch()])


def test_several_expected_labels_are_alternatives():
    score = LabelMatch(LABELS)(Sample("1", "?", ["bug", "other"]), Output("other"))
    assert (score.value, score.detail) == (1.0, {"label": "other", "wanted": "other"})


def test_expected_answers_of_a_few_short_words_are_a_closed_set():
    assert closed_set(["yes", "no"] * 3) == ("yes", "no")
    assert closed_set(["yes", "no", "no", "no"]) == ()
    assert closed_set(["yes"] * 9) == ()
    assert closed_set(["x" * 41, "y"] * 3) == ()
    assert closed_set([{"a": 1}, "y"] * 3) == ()


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Yes.", 1),
        ("Yes and no.", 0),
        ("Yes, but in some ways no.", 0),
        ("It is yes.", 1),
        ("No.", 0),
        ("Answer: yes, not no", 1),
    ],
)
def test_contains_counts_no_hedge_between_the_answers_of_a_dataset(reply, value):
    samples = [Sample(f"{no}", "?", answer) for no, answer in enumerate(["yes", "no"] * 3)]
    run = evaluate(lambda _: reply, samples, [Contains()])
    assert {record.scores[0].value for record in run.records() if record.sample.reference == "yes"} == {value}


def test_contains_without_a_closed_set_counts_what_else_is_named():
    assert Contains()(Sample("1", "?", "yes"), Output("Yes and no.")).value == 1
