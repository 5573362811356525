"""A figure that counts records leads to them in the viewer."""

from steelyard.report.section import RecordLink
from steelyard.viewer.pages import linked_page


def test_a_record_of_any_name_is_linked_by_its_address():
    link = RecordLink("abc123", "exam/1 a?b")
    assert linked_page(lambda path, **_: path, link) == "/run/abc123/s/exam%2F1%20a%3Fb"
