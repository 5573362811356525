"""What a notebook shows of values: the Sections of their page, and no markup of others."""

from html.parser import HTMLParser

from steelyard import ExactMatch, Sample, Suite, compare, evaluate_suite, rank
from steelyard.report import rate_chart, svg

HOSTILE = "<script>alert(1)</script>"


def tags_and_text(html):
    tags, words = set(), []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.add(tag)
    parser.handle_data = words.append
    parser.feed(html)
    return tags, " ".join(words)


def runs():
    samples = [Sample(f"q{n}", f"question {n}", "A") for n in range(40)]
    targets = {"old": lambda sample: "A" if int(sample.id[1:]) < 20 else "B", HOSTILE: lambda sample: "A"}
    return evaluate_suite(Suite("s", "custom", samples, targets, (ExactMatch(),)))


def test_a_comparison_shows_means_difference_interval_and_sentence():
    comparison = compare(*runs())
    tags, text = tags_and_text(comparison._repr_html_())
    assert "table" in tags
    assert "script" not in tags
    assert "50.0 %" in text
    assert "100.0 %" in text
    assert "+50.0" in text
    assert comparison.pairs[0].conclusion.sentence in text
    assert HOSTILE in text


def test_a_summary_is_the_table_of_its_run():
    run = runs()[0]
    assert run._repr_html_() == run.summary()._repr_html_()


def test_standings_show_ranks_ratings_and_counts():
    table = rank([("a", "b", "a")] * 30 + [("b", HOSTILE, "a")] * 30)
    tags, text = tags_and_text(table._repr_html_())
    assert "table" in tags
    assert "script" not in tags
    assert "60 verdicts on 60 independent samples" in text
    assert HOSTILE in text
    assert table.sentence in text


def test_a_chart_shows_itself_as_a_picture():
    picture = svg(rate_chart([run.summary() for run in runs()]))
    tags, _ = tags_and_text(picture._repr_html_())
    assert {"svg", "title"} <= tags
    assert "script" not in tags
    assert picture._repr_html_() == picture
