"""Every sample is looked at once before the first call, and what a resume compares is what decides a result."""

import pytest

from steelyard import Choice, ConfigError, ExactMatch, Options, Prompt, Sample, Scripted, Suite, plain_json
from steelyard.errors import DataError
from steelyard.evaluation.survey import changed_keys, check_suite, manifests, scorer_stages, survey


def test_a_survey_counts_and_digests_in_order():
    samples = [Sample("a", "q"), Sample("b", "q")]
    assert survey(samples).n == 2
    assert survey(samples) == survey(list(samples))
    assert survey(samples[::-1]).digest != survey(samples).digest
    changed = [Sample("a", "q"), Sample("b", "q", group="g")]
    assert survey(changed).digest != survey(samples).digest


@pytest.mark.parametrize(
    ("samples", "said_so"),
    [
        ([], "there are no samples to run"),
        ([Sample("a", "q"), Sample("a", "r")], "sample 2 has the id 'a' of an earlier one"),
        (["a"], "sample 1: TypeError: a str is not a Sample"),
        ([Sample(1, "q")], "sample 1: TypeError: id must be a text, not 1"),
        ([Sample("a", "q"), Sample("b", "q", group=None)], "sample 2: TypeError: group must be a text, not None"),
        ([Sample("a\ud800", "q")], "sample 1: UnicodeEncodeError"),
        ([Sample("a", "q", choices="ABC")], "choices must be a tuple of texts, not 'ABC'"),
        ([Sample("a", "q", choices=None)], "choices must be a tuple of texts, not None"),
        ([Sample("a", "q", contexts=(1,))], r"contexts must be a tuple of texts, not \(1,\)"),
        ([Sample("a", "q", metadata=None)], "metadata must be a mapping, not None"),
        ([Sample("a", {(1, 2): 3})], "sample 1: TypeError"),
    ],
)
def test_samples_that_could_not_be_kept_as_they_are_are_refused(samples, said_so):
    with pytest.raises(DataError, match=said_so):
        survey(samples)


@pytest.mark.parametrize("unused", [(), ("many",)])
def test_a_sample_that_could_not_be_read_back_is_refused_before_a_call(monkeypatch, unused):
    monkeypatch.setattr(plain_json, "_MOST_PARTS", 1_000)
    whole = Sample("a", "q", metadata={"many": [0] * 990})
    assert survey([whole], unused=unused).n == 1
    with pytest.raises(DataError, match="sample 2: ValueError: it holds more than 1,000 values"):
        survey([whole, Sample("b", "q", metadata={"many": [0] * 1_000})], unused=unused)
    monkeypatch.setattr(plain_json, "MOST_BYTES", 100)
    with pytest.raises(DataError, match="sample 1: ValueError: it takes 1,009 bytes"):
        survey([Sample("a", "q" * 1_000)], unused=unused)


def test_of_many_doubles_twenty_are_told():
    with pytest.raises(DataError) as caught:
        survey([Sample("a", "q")] * 100)
    assert caught.value.defects[19:] == ("sample 21 has the id 'a' of an earlier one", "and 79 more")


def scorer(sample, output):
    return 1.0


def test_scorers_are_named_by_what_they_measure():
    stages = scorer_stages([ExactMatch(), Choice(), scorer])
    assert list(stages) == ["exact_match", "solve_rate", "scorer"]


@pytest.mark.parametrize(
    ("scorers", "said_so"),
    [
        ([scorer, scorer], "there are two scorers named 'scorer'"),
        ([lambda sample, output: 1, lambda sample, output: 2], "there are two scorers named '<lambda>'"),
        ([type("target", (), {"__call__": lambda *_: 1.0})()], "two scorers named 'target'"),
        ([type(f"S{n}", (), {"__call__": lambda *_: 1.0})() for n in range(128)], "a suite may have 127"),
    ],
)
def test_names_of_scorers_must_differ(scorers, said_so):
    with pytest.raises(ConfigError, match=said_so):
        scorer_stages(scorers)


@pytest.mark.parametrize("name", ["", "a\nb", "\ud800", 3, None])
def test_a_target_is_named_by_a_printable_text(name):
    suite = Suite("s", "custom", [], {name: scorer}, ())
    with pytest.raises(ConfigError, match="a target's name is a printable text"):
        check_suite(suite)


def test_everything_inside_a_target_is_checked():
    suite = Suite("s", "custom", [], {"t": Prompt(Prompt(Scripted()))}, ())
    with pytest.raises(ConfigError, match="Prompt is not a model"):
        check_suite(suite)


def manifest(**more):
    fields = {
        "name": "s",
        "kind": "custom",
        "samples": [Sample("a", "q")],
        "targets": {"t": Prompt(Scripted())},
        "scorers": (ExactMatch(),),
    }
    suite = Suite(**{**fields, **more})
    ((_, built),) = manifests(suite, survey(suite.samples), draw="", config=None)
    return built


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        ({}, []),
        ({"name": "other", "gate": {"exact_match": "> 0"}, "notes": ("n",), "tags": {"t": {"a": "b"}}}, []),
        ({"options": Options(concurrency=3, max_errors=1.0, sample_timeout_s=5)}, []),
        ({"options": Options(seed=3, repeats=2)}, ["options.repeats", "options.seed"]),
        ({"samples": [Sample("a", "other")]}, ["samples.digest"]),
        ({"targets": {"t": Prompt(Scripted(default="x"))}}, ["target.prompt.model.scripted.default"]),
        ({"targets": {"t": Prompt(Scripted(), "Q: {{question}}")}}, ["target.prompt.template", "target.prompt.text"]),
        ({"scorers": (ExactMatch(ignore_case=True),)}, ["scorers.exact_match.exact_match.ignore_case"]),
        ({"scorers": (ExactMatch(), scorer)}, ["scorers.scorer"]),
    ],
)
def test_a_resume_names_the_keys_that_changed_and_decide_a_result(change, keys):
    assert changed_keys(manifest(), manifest(**change)) == keys


def test_the_way_to_an_endpoint_does_not_stand_in_the_way_of_a_resume():
    before = {"target": {"prompt": {"model": {"name": "m", "proxy": ""}}}}
    after = {"target": {"prompt": {"model": {"name": "m", "proxy": "none", "ca_file": {"file": "a"}}}}}
    assert changed_keys(before, after) == []
    assert changed_keys(before, {"target": {"prompt": {"model": {"name": "n", "added": "x"}}}}) == [
        "target.prompt.model.added",
        "target.prompt.model.name",
    ]
