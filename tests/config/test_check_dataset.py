"""The lines of `steelyard config check` about a dataset."""

from steelyard.config.check_dataset import open_reference_lines


def test_of_many_references_without_a_unique_result_the_first_are_listed_and_the_others_counted():
    first, *listed, last = open_reference_lines([f"q{no}" for no in range(75)])
    assert first.strip().startswith("75 references have no unique result")
    assert [line.strip() for line in listed] == [f"q{no}" for no in range(60)]
    assert last.strip() == "and 15 more: --json has all"
    assert len(list(open_reference_lines([f"q{no}" for no in range(60)]))) == 61
    assert list(open_reference_lines([])) == []
