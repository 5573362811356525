"""Pages of records: joined they are all records that match, each once and in order, whatever the condition."""

import random
import re
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard import ConfigError, Label, Options, Output, Sample, Score, ScoreInfo, Store, Suite, evaluate_suite
from steelyard.analysis.conditions import parse_condition
from steelyard.evaluation import RunConfig
from steelyard.evaluation.rescore import rescore
from steelyard.people.labels import add_labels
from steelyard.scorers import ExactMatch
from steelyard.store.reading.page_query import cursor, place_of
from steelyard.store.reading.pages import MOST_ON_PAGE, matching_places, matching_records

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
GROUPS = ("tax", "", "tax and customs", "Steuer\u00fc")
SAMPLES = [
    Sample(f"q{no:02}", no, "B", group=GROUPS[no % 4], cluster=f"c{no // 3}" if no % 5 else "") for no in range(24)
]


class Rated:
    """Scores with ties, without a value and of every outcome; a sample's number decides which."""

    score_infos = (
        ScoreInfo("right", (0, 1), threshold=0.5, denominator="all", headline=True),
        ScoreInfo("rating", (1, 5)),
    )

    def __init__(self, shift=0):
        self.shift = shift

    def __call__(self, sample, output):
        no = sample.input + self.shift
        outcome = {3: "unparsed", 7: "refused", 11: "not_applicable"}.get(no % 12, "scored")
        right = float(no % 3 > 0) if outcome == "scored" else None
        rating = Score("rating", 1.0 + no % 4) if no % 6 else Score("rating", None, outcome="not_applicable")
        return [Score("right", right, outcome=outcome), rating]


def answer(sample):
    if sample.input % 13 == 5:
        raise ValueError("no answer")
    return Output(f"answer {sample.input}")


def evaluated(where, shift=0, samples=SAMPLES, repeats=2):
    suite = Suite(
        "pages", "custom", samples, {"answer": answer}, (Rated(shift),), Options(repeats=repeats, max_errors=1.0)
    )
    return evaluate_suite(suite, how=RunConfig(store=where))[0]


LABELS = (Label("q07", "cause", "typo", "ann", AT), Label("q08", "cause", "unit", "bob", AT, 1))


@pytest.fixture(scope="module")
def run(shared):
    """For tests that only read."""
    run = evaluated(shared)
    with Store(shared) as store:
        add_labels(store, run, LABELS)
    return run


CONDITIONS = [
    "", "all", "failed", "wrong", "errors", "unparsed", "refused", "not-applicable", "rating < 3", "rating!=2",
    "rating >= 2 and right = 1", "right=unparsed", "right != scored", 'group="tax and customs"', "group != tax",
    'group = ""', 'cluster = "c3"', "cluster != c3", "id = q07", "error = ValueError", "error != ValueError",
    "labelled", "labelled and wrong", "label:cause", "label:cause = typo", "label:cause != typo",
    "wrong and group = tax and rating > 1", "errors and wrong", "id = nobody",
]  # fmt: skip
ORDERS = ["", "-place", "rating", "-rating", "right", "id", "-id", "group", "-group", "cluster", "seconds"]


def expected(records, labels, run, where, order, *, by_sample=False):
    """What one page of everything would have, found without a database."""
    condition = parse_condition(where or "all", run.manifest)
    matching = [
        (no, record)
        for no, record in records
        if condition.holds(
            record, [label for label in labels if (label.sample, label.repeat) == (record.sample.id, record.repeat)]
        )
    ]
    key, falling = order.removeprefix("-") or "place", order.startswith("-")

    def value(no, record):
        if key == "place":
            return no, record.repeat
        if key in {"id", "group", "cluster"}:
            return getattr(record.sample, key)
        if key == "seconds":
            return round(1000 * record.seconds)
        return next((score.value for score in record.scores if score.name == key), None)

    def mean(no, record):
        if key in {"place", "id", "group", "cluster"}:
            return value(no, record)
        values = [value(no, other) for other_no, other in records if other_no == no]
        known = [each for each in values if each is not None]
        return sum(known) / len(known) if known else None

    value_of = mean if by_sample else value
    valued = [pair for pair in matching if value_of(*pair) is not None]
    rest = [pair for pair in matching if value_of(*pair) is None]
    # `reverse` keeps ties as they are, which is the order of the dataset.
    in_order = sorted(valued, key=lambda pair: value_of(*pair), reverse=falling)
    return [(no, record.repeat) for no, record in in_order + rest]


def walked(run, where, order, n, **more):
    places, after = [], ""
    while True:
        page = run.page(after, n, where=where, sort=order, **more)
        assert page.after in {"", *map(cursor, page.places[-1:])}
        assert [record.repeat for record in page.records] == [repeat for _, repeat in page.places]
        places += page.places
        if not page.after:
            return places, page
        after = page.after


def walked_back(run, where, order, n):
    places, before = [], walked(run, where, order, n)[1].before
    while before:
        page = run.page(before=before, n=n, where=where, sort=order)
        places = [*page.places, *places]
        before = page.before
    return places


@pytest.mark.parametrize("order", ORDERS)
def test_pages_joined_are_all_matching_records_in_order(run, shared, order):
    records = list(run.numbered_records())
    with Store(shared) as store:
        stored = store.run(run.id)
        labels = stored.labels()
        assert labels == LABELS
        # Conditions and orders are parts of a query that know nothing of each other: each meets some of the others.
        for condition in CONDITIONS[ORDERS.index(order) % times(6, 1) :: times(6, 1)]:
            wanted = expected(records, labels, run, condition, order)
            n = 1 if len(wanted) < 5 else 9
            places, last = walked(stored, condition, order, n)
            assert places == wanted, (condition, order)
            assert last.total == len(wanted)
            uncounted, page = walked(stored, condition, order, n + 8, count=False)
            assert uncounted == wanted, (condition, order)
            assert page.total is None


class Wavering:
    """Two scores of which repeats of a sample differ, and of which some repeats have none."""

    score_infos = (
        ScoreInfo("right", (0, 1), threshold=0.5, denominator="all", headline=True),
        ScoreInfo("rating", (1, 5)),
    )

    def __call__(self, sample, output):
        drawn = random.Random(f"{sample.id} {output.value}")
        rating = drawn.choice([None, 1.0, 2.5, 3.25, 4.5])
        outcome = "scored" if sample.input % 6 and rating else "not_applicable"
        return [
            Score("right", float(drawn.random() < 0.5)),
            Score("rating", rating if outcome == "scored" else None, outcome=outcome),
        ]


class Counting:
    """Another answer to each question, and none to some."""

    def __init__(self):
        self.asked = Counter()

    def __call__(self, sample):
        self.asked[sample.id] += 1
        if (sample.input + self.asked[sample.id]) % 13 == 5:
            raise ValueError("no answer")
        return Output(f"answer {self.asked[sample.id]}")


@pytest.fixture(scope="module")
def wavering(shared):
    """A run whose three repeats of a sample differ."""
    options = Options(repeats=3, max_errors=1.0, concurrency=1)
    suite = Suite("wavering", "custom", SAMPLES, {"counting": Counting()}, (Wavering(),), options)
    return evaluate_suite(suite, how=RunConfig(store=shared))[0]


BY_SAMPLE = {"": (7,), "wrong": (1, 7), "rating != scored": (4,), "group = tax and right = 1": (1,)}
"""Conditions, and how many samples a page has."""


BY_SAMPLE_ORDERS = ["", "-place", "rating", "-right", "-group", "seconds"]


@pytest.mark.parametrize(
    ("state", "order"),
    # The two states share the query of an order, which of a finished run is remembered.
    [
        *(("finished", order) for order in BY_SAMPLE_ORDERS),
        *(("running", order) for order in BY_SAMPLE_ORDERS[:: times(4, 1)]),
    ],
)
def test_repeats_of_a_sample_stay_together_in_every_order(wavering, order, state, monkeypatch):
    monkeypatch.setattr(type(wavering), "state", state)  # of a run that may change no order is remembered
    records = list(wavering.numbered_records())
    for condition, sizes in BY_SAMPLE.items():
        wanted = expected(records, (), wavering, condition, order, by_sample=True)
        assert len(wanted) > 4
        for n in times(sizes, (1, 7)):
            pages, after, back = [], "", ""
            while not pages or after:
                page = wavering.page(after, n, where=condition, sort=order, by_sample=True)
                assert len(page.places) >= n or not page.after
                pages.append(page.places)
                after, back = page.after, page.before
            assert [place for page in pages for place in page] == wanted, (condition, n)
            samples = [{no for no, _ in page} for page in pages]
            assert sum(map(len, samples)) == len(set.union(*samples)), "no sample is on two pages"
            before = []
            while back:
                page = wavering.page(before=back, n=n, where=condition, sort=order, by_sample=True)
                before = [*page.places, *before]
                back = page.before
            assert before == wanted[: len(wanted) - len(pages[-1])], (condition, n)


def test_a_page_follows_the_whole_sample_whichever_of_its_repeats_is_named(wavering):
    for order in ("", "-rating", "-seconds"):
        everything = wavering.page(n=100, sort=order, by_sample=True).places
        samples = list(dict.fromkeys(no for no, _ in everything))
        for repeat in range(3):
            page = wavering.page(f"{samples[4]}.{repeat}", 1, sort=order, by_sample=True)
            assert {no for no, _ in page.places} == {samples[5]}
            page = wavering.page(before=f"{samples[4]}.{repeat}", n=1, sort=order, by_sample=True)
            assert {no for no, _ in page.places} == {samples[3]}


def test_a_sample_that_does_not_match_may_stand_before_a_page_in_an_order_by_means(wavering):
    """Whoever labels records of a sorted list goes on to the next, though the last does not match any more."""
    everything = [no for no, _ in wavering.page(n=100, sort="-rating", by_sample=True).places]
    matching = list(wavering.page(n=100, where="wrong", sort="-rating", by_sample=True).places)
    outside = next(no for no in everything if no not in {no for no, _ in matching})
    later = [place for place in matching if everything.index(place[0]) > everything.index(outside)]
    assert list(wavering.page(str(outside), 100, where="wrong", sort="-rating", by_sample=True).places) == later
    assert later


@pytest.mark.parametrize("order", ["", "-rating", "group"])
def test_pages_are_read_backwards_too(run, order):
    for condition in ("", "rating > 1", "label:none"):
        forward, last = walked(run, condition, order, 7)
        before_last = forward[: len(forward) - len(last.places)]
        assert walked_back(run, condition, order, 7) == before_last


def test_a_record_that_does_not_match_may_stand_before_a_page(run):
    """Whoever changes a filter stays where they were."""
    outside = next(place for place in walked(run, "", "", 100)[0] if place not in matching_places(run, "wrong"))
    later = [place for place in matching_places(run, "wrong") if place > outside]
    assert list(run.page(cursor(outside), 100, where="wrong").places) == later


def test_a_page_has_the_records_as_they_are_read_one_by_one(run):
    by_place = {(no, record.repeat): record for no, record in run.numbered_records()}
    page = run.page(n=20, sort="-rating", skip=9)
    assert [by_place[place] for place in page.places] == list(page.records)


def test_a_page_by_its_number(run):
    everything = walked(run, "failed", "group", 100)[0]
    page = run.page(n=4, where="failed", sort="group", skip=8)
    assert list(page.places) == everything[8:12]
    assert (bool(page.after), bool(page.before)) == (True, True)
    assert run.page(n=4, where="failed", skip=10_000).records == ()


@pytest.mark.parametrize("order", ["", "-rating", "rating", "group", "-seconds"])
def test_a_page_may_begin_anywhere_in_an_order(run, order):
    everything = list(run.page(n=100, sort=order).places)
    for skip in [0, *range(1, len(everything) - 6, times(6, 1)), *range(len(everything) - 6, len(everything) + 2)]:
        page = run.page(n=5, sort=order, skip=skip)
        assert list(page.places) == everything[skip : skip + 5]
        assert bool(page.after) == (skip + 5 < len(everything))


def test_a_place_that_does_not_fit_a_character_is_read_too(where):
    run = evaluated(where)
    with Store(where) as store:
        values = {"no": 1 << 21}
        store.writer.change(
            lambda batch: batch.connection.execute("UPDATE record SET no = :no WHERE no = 1 AND repeat = 0", values)
        )
        moved = store.run(run.id)
        assert moved.page(n=100, where='group = ""').places[-1] == (1 << 21, 0)


def test_matching_records_are_those_of_the_condition(run):
    condition = parse_condition("wrong and group=tax", run.manifest)
    listed = list(matching_records(run, condition))
    assert listed == [(no, record) for no, record in run.numbered_records() if condition.holds(record)]
    assert listed


def test_regressions_are_those_of_a_comparison(run, shared):
    from steelyard import compare

    before, after = run, evaluated(shared, shift=1)
    pair = compare(before, after).pairs[0]
    for word, ids in (("regression", pair.changed.regressions), ("improvement", pair.changed.improvements)):
        page = after.page(n=100, where=word, against=before)
        assert {record.sample.id for record in page.records} == set(ids)
        assert ids
    mixed = after.page(n=100, where='regression and group = "tax" and rating < 4', against=before, sort="-rating")
    ratings = [next(score.value for score in record.scores if score.name == "rating") for record in mixed.records]
    assert ratings == sorted(ratings, reverse=True)
    assert {record.sample.group for record in mixed.records} == {"tax"}


@pytest.mark.parametrize("threshold", [0.5, None])
@pytest.mark.parametrize("lower", [False, True])
def test_regressions_of_runs_without_repeats_are_found_by_place(shared, threshold, lower):
    from steelyard import compare

    class Judged(Rated):
        score_infos = (
            ScoreInfo("right", (0, 1), threshold=threshold, denominator="all", headline=True, lower_is_better=lower),
            ScoreInfo("rating", (1, 5)),
        )

    def judged(shift):
        options = Options(max_errors=1.0)
        suite = Suite("pages", "custom", SAMPLES, {"answer": answer}, (Judged(shift),), options)
        return evaluate_suite(suite, how=RunConfig(store=shared))[0]

    before, after = judged(0), judged(1)
    pair = compare(before, after).pairs[0]
    for word, ids in (("regression", pair.changed.regressions), ("improvement", pair.changed.improvements)):
        page = after.page(n=100, where=word, against=before)
        assert {record.sample.id for record in page.records} == set(ids)
        assert ids
        by_rating = after.page(n=100, where=word, against=before, sort="rating")
        assert sorted(by_rating.places) == list(page.places)
        grouped = after.page(n=100, where=f'{word} and group != "tax"', against=before)
        assert grouped.records == tuple(record for record in page.records if record.sample.group != "tax")
    table = pair.headline.table
    for word, count in (("both-right", table.both_right), ("both-wrong", table.both_wrong)):
        page = after.page(n=100, where=word, against=before)
        assert page.total == count


def test_what_both_runs_have_right_needs_a_threshold(shared):
    class Graded(Rated):
        score_infos = (ScoreInfo("rating", (1, 5), headline=True), ScoreInfo("right", (0, 1)))

    suite = Suite("graded", "custom", SAMPLES, {"answer": answer}, (Graded(),), Options(max_errors=1.0))
    before, after = (evaluate_suite(suite, how=RunConfig(store=shared))[0] for _ in range(2))
    with pytest.raises(ConfigError, match="rating has no threshold"):
        after.page(where="both-right", against=before)
    with pytest.raises(ConfigError, match="regression compares with another run: name that run with against="):
        after.page(where=parse_condition("regression", after.manifest, compared=True))


def test_regressions_pair_samples_by_id(run, shared):
    """Another dataset order, and contents that have changed since."""
    from steelyard import compare

    changed = [Sample(sample.id, sample.input, "C", group=sample.group) for sample in reversed(SAMPLES[3:])]
    before, after = run, evaluated(shared, shift=2, samples=changed, repeats=1)
    ids = set(compare(before, after).pairs[0].changed.regressions)
    assert {record.sample.id for record in after.page(n=100, where="regression", against=before).records} == ids
    assert ids


def in_repeats(where, right, repeats):
    """A run that answers a sample right as often as `right` says, of so many repeats."""
    left = dict(right)

    def answer(sample):
        left[sample.id] -= 1
        return "A" if left[sample.id] >= 0 else "B"

    samples = [Sample(name, "?", "A") for name in right]
    options = Options(repeats=repeats, concurrency=1)
    return evaluate_suite(Suite("pages", "custom", samples, {"answer": answer}, (ExactMatch(),), options), store=where)[
        0
    ]


def test_a_sample_with_repeats_changes_where_most_of_them_do(shared):
    """Exact match has the threshold 1; of repeats most decide, and half of them is neither right nor wrong."""
    from steelyard import compare

    once = in_repeats(shared, {"none": 1, "one": 1, "half": 1, "three": 1, "up": 0, "half up": 0}, 1)
    often = in_repeats(shared, {"none": 0, "one": 1, "half": 2, "three": 3, "up": 3, "half up": 2}, 4)
    for before, after, worse, better in (
        (once, often, {"none", "one"}, {"up"}),
        (often, once, {"up"}, {"none", "one"}),
    ):
        pair = compare(before, after).pairs[0]
        assert (set(pair.changed.regressions), set(pair.changed.improvements)) == (worse, better)
        for change, ids in (("regression", worse), ("improvement", better), ("both-right", {"three"})):
            records = after.page(n=100, where=change, against=before).records
            assert {record.sample.id for record in records} == ids


def test_a_rescored_run_is_filtered_by_its_newest_scores(shared):
    run = evaluated(shared)
    wrong = matching_places(run, "wrong")
    with Store(shared) as store:
        again, _ = rescore(store, store.run(run.id), (Rated(1),))
    assert matching_places(again, "wrong") != wrong


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"where": "wrnog"}, "did you mean 'wrong'"),
        ({"where": "regression"}, "name that run with --against"),
        ({"where": "x" * 3000}, "at most 2,000 characters"),
        ({"where": " and ".join(["wrong"] * 60)}, "at most 50 parts"),
        ({"where": "rating < 1; DROP TABLE record"}, "is not a number"),
        ({"where": "rating < 1 OR 1=1"}, "'1 OR 1=1' is not a number"),
        ({"where": "group = '\udc80'"}, "not valid Unicode"),
        ({"sort": "raitng"}, "did you mean 'rating'"),
        ({"sort": "rating; DROP TABLE record"}, "cannot be sorted by"),
        ({"after": "x"}, "is not a place"),
        ({"after": "1.2.3"}, "is not a place"),
        ({"after": "99999999999999999999"}, "is not a place"),
        ({"after": "4711"}, "no record at 4711"),
        ({"after": "1", "before": "2"}, "not both"),
        ({"n": 0}, "n must be a whole number from 1 to 1,000"),
        ({"n": MOST_ON_PAGE + 1}, "not 1001"),
        ({"skip": -1}, "skip must be a whole number of 0 or more, not -1"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(run, asked, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        run.page(**asked)


HOSTILE = [
    "'",
    '"',
    "';--",
    "%s",
    ":run",
    "%(run)s",
    "\\",
    "\x00",
    "{1}",
    "NULL",
    "1); DELETE FROM record; --",
    "?1",
    "\x1a0",
]


def test_a_hostile_text_is_a_text(shared):
    samples = [Sample(f"q{no}", no, "B", group=text) for no, text in enumerate(HOSTILE)]
    run = evaluated(shared, samples=samples, repeats=1)
    assert [record.sample.group for record in run.records()] == HOSTILE
    for text in HOSTILE:
        if '"' in text:
            continue
        page = run.page(where=f'group = "{text}"')
        assert [record.sample.group for record in page.records] == [text]
        assert run.page(where=f'id = "{text}"').total == 0, text
        assert run.page(where=f'label:cause = "{text}"').total == 0, text


def test_a_run_without_records_has_an_empty_page(shared):
    run = evaluated(shared, samples=SAMPLES[:1], repeats=1)
    assert run.page(where="errors").records == ()
    assert (run.page(where="errors").total, run.page().total) == (0, 1)


@given(st.tuples(st.integers(0, 10**9 - 1), st.integers(0, 10**6)))
def test_a_place_is_read_as_it_is_written(place):
    assert place_of(cursor(place)) == place


def test_changes_are_found_between_runs_of_one_store_only(shared, tmp_path):
    before, after = evaluated(tmp_path / "elsewhere.db"), evaluated(shared)
    with pytest.raises(ConfigError, match=r"regression compares runs of one store, and run \w+ is in .*elsewhere\.db"):
        after.page(where="regression", against=before)
