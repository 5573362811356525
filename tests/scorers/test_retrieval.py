"""What a retrieval scores, and where it does not apply; what answers to what is tested in test_passages."""

import pytest

from steelyard import Output, Sample
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.scorers.retrieval import Retrieval, retrieved

UUID = "2b6f7c0e-58a1-4b7c-9a43-0d6e1f0c55aa"
NAMES = ["hit_rate", "mrr", "precision", "recall", "average_precision", "ndcg"]


def scores(expected, found=None, contexts=(), **options):
    sample = Sample("1", "q", metadata={} if expected is None else {"sources": expected})
    output = Output("", tuple(contexts), {} if found is None else {"sources": found})
    return {one.name: one for one in Retrieval(**options)(sample, output)}


def values(*given, **options):
    return [scores(*given, **options)[name].value for name in NAMES]


def span(start, end, document="a.pdf", **more):
    return {"document": document, "start": start, "end": end, **more}


class TestRetrieval:
    def test_the_share_of_overlap_is_an_option(self):
        assert values([span(0, 100)], [span(90, 190)], overlap=0.1)[0] == 1.0
        assert values([span(0, 100)], [span(90, 190)], overlap=0.11)[0] == 0.0

    def test_the_scores_of_a_ranking_by_hand(self):
        found = values(["a", "b"], ["x", "b", "y", "a"])
        assert found == pytest.approx([1, 1 / 2, 2 / 4, 1, (1 / 2 + 2 / 4) / 2, 0.6509], abs=1e-4)

    def test_only_the_first_k_count(self):
        assert values(["a", "b"], ["x", "b", "y", "a"], k=2)[2:4] == [0.5, 0.5]
        assert scores(["a"], ["x", "a"], k=1)["hit_rate"].passed is False

    def test_chunk_sizes_may_differ_between_systems(self):
        """One passage of 1,000 characters holds both sources; four of 250 hold one each at ranks 1 and 4."""
        expected = [span(10, 200), span(760, 900)]
        assert values(expected, [span(0, 1000)]) == [1.0] * 6
        small = [span(0, 250), span(250, 500), span(500, 750), span(750, 1000)]
        assert values(expected, small) == pytest.approx([1, 1, 0.5, 1, (1 + 2 / 4) / 2, 0.8772], abs=1e-4)

    def test_contexts_are_compared_by_text_where_no_sources_are_told(self):
        expected = [{"text": "黄河全长5464公里", "id": "c1", "document": "a.pdf", "start": 3, "end": 13}]
        assert values(expected, None, ["长江……", "据测量，黄河全长 5464 公里。"])[:3] == [1.0, 0.5, 0.5]

    def test_contexts_are_the_texts_of_sources_without_one(self):
        assert values([{"text": "long river"}], [{"page": 3}, {"page": 4}], ["the sea", "a long river"])[1] == 0.5
        found = retrieved(Output("", ("a b",), {"sources": [{"id": "1"}, {"id": "2"}]}))
        assert [one.text.original for one in found] == ["a b", ""]

    def test_passages_that_no_source_tells_of_count_all_the_same(self):
        assert values([{"text": "long river"}], [{"page": 3}], ["the sea", "a long river"])[:3] == [1.0, 0.5, 0.5]

    @pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000])
    def test_json_that_is_too_deep_to_be_read_is_an_id(self, deep):
        assert values(deep, [deep])[0] == 1.0

    @pytest.mark.parametrize("end", [10**400, float("inf")])
    def test_a_range_beyond_any_text_is_none(self, end):
        assert values([span(0, end, text="river")], [span(0, end, text="river")])[0] == 1.0
        assert scores([span(0, 10)], [span(0, end)])["recall"].outcome == "not_applicable"

    def test_a_source_without_a_document_is_of_the_document_of_the_sample(self):
        sample = Sample("1", "q", metadata={"document": "a.pdf", "sources": [{"start": 0, "end": 10}]})
        assert Retrieval()(sample, Output("", metadata={"sources": [span(0, 10)]}))[0].value == 1.0

    def test_sources_may_be_the_json_text_of_a_column(self):
        assert values('[{"id": "a"}]', ["a"]) == [1.0] * 6
        assert values("[a", ["[a"])[0] == 1.0

    def test_equal_sources_are_one(self):
        assert values(["a", "a"], ["a"])[3] == 1.0

    @pytest.mark.parametrize("none", [None, [], ""])
    def test_without_expected_sources_it_does_not_apply(self, none):
        by_name = scores(none, ["a"])
        assert [one.outcome for one in by_name.values()] == ["not_applicable"] * 6
        assert by_name["recall"].reason == "the sample names no sources"

    @pytest.mark.parametrize("blind", [{}, {"page": 3}, {"start": 1, "end": 2}, {"document": "a.pdf"}, {"text": "…"}])
    def test_a_source_that_nothing_could_answer_to_does_not_apply(self, blind):
        found = scores(["a", blind], ["a"])["recall"]
        assert found.outcome == "not_applicable"
        assert found.reason == "source 2 of the sample has no id, no text, and no range or page of a document"

    def test_passages_that_cannot_be_compared_with_a_source_do_not_apply_and_say_why(self):
        by_name = scores([span(0, 90)], [{"id": UUID, "document": "a.pdf"}], ["Rain falls on the hills in May."])
        assert [one.outcome for one in by_name.values()] == ["not_applicable"] * 6
        assert by_name["recall"].detail == {"matched_by": "not compared", "lacks": "comparable passages"}
        assert by_name["recall"].reason == (
            "source 1 of the sample has a range and the passages have an id and a text, which cannot be compared: give "
            "the sources their texts, or name the suite's `documents`, which they are read from then"
        )

    def test_an_id_that_a_framework_drew_is_no_miss_of_an_id_that_the_dataset_names(self):
        assert scores(["chunk-1"], [{"id": UUID}], ["Rain."])["hit_rate"].outcome == "not_applicable"
        assert scores(["chunk-1"], [{"id": "chunk-2"}], ["Rain."])["hit_rate"].value == 0.0
        assert scores([UUID], [{"id": UUID.replace("2", "3")}], ["Rain."])["hit_rate"].value == 0.0

    def test_passages_of_other_documents_do_not_make_up_for_one_that_cannot_be_compared(self):
        found = [{"document": "a.pdf"}, {"document": "b.pdf"}]
        assert scores([span(0, 90)], found, ["Rain.", "Snow."])["recall"].outcome == "not_applicable"
        assert scores([span(0, 90)], found[1:], ["Snow."])["recall"].value == 0.0

    def test_one_passage_that_can_be_compared_is_enough(self):
        found = scores([{"text": "Rain falls."}], [{"id": UUID}, {"id": UUID}], ["", "Snow falls."])["recall"]
        assert (found.value, found.detail["passages"]) == (0.0, ["nothing", "nothing"])

    def test_nothing_retrieved_is_scored_zero_with_the_reason(self):
        by_name = scores(["a"], [])
        assert [one.value for one in by_name.values()] == [0.0] * 6
        assert by_name["precision"].reason == "nothing was retrieved"

    def test_the_reason_and_the_detail_name_the_ranks(self):
        found = scores(["a", "b", "c"], ["x", "c", "a"])["recall"]
        assert found.reason == "2 of 3 expected passages found among 3, at rank 3, 2 (same id)"
        assert found.detail == {
            "matched_by": "id",
            "passages": ["nothing", "id", "id"],
            "ranks": [3, None, 2],
            "retrieved": 3,
            "k": None,
            "long_pairs": 0,
            "pairs": 9,
        }

    def test_the_strongest_way_of_all_passages_is_named(self):
        page = {"document": "a.pdf", "page": 3}
        expected = [{"text": "long river", "id": "c7", **page}]
        found = scores(expected, [page, page, "c7", "c8"], ["", "a long river", "", "the sea"])["mrr"].detail
        assert (found["matched_by"], found["passages"]) == ("id", ["page", "words", "id", "nothing"])
        assert scores(expected, [page, page], ["", "a long river"])["mrr"].detail["matched_by"] == "words"
        assert scores(expected, [page, page], ["", "the sea"])["mrr"].detail["matched_by"] == "page"

    @pytest.mark.parametrize("options", [{"k": 0}, {"overlap": 0}, {"overlap": 1.1}, {"ndcg_gain": "square"}])
    def test_what_cannot_be_meant_is_refused(self, options):
        with pytest.raises(ConfigError, match=next(iter(options))):
            check_options(Retrieval(**options))

    def test_the_scores_are_the_names_that_it_declares(self):
        check_options(Retrieval())
        assert list(scores(["a"], ["a"])) == [info.name for info in Retrieval.score_infos] == NAMES
