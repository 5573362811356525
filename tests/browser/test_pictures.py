"""The pictures in the documentation show the viewer as it is today: their text is compared, not their pixels."""

import pytest
from tools.pictures import IMAGES, pictures

pytestmark = pytest.mark.browser


def test_pictures_of_the_documentation_show_the_text_of_today(tmp_path):
    for name, text in pictures(tmp_path).items():
        shown = (IMAGES / f"{name}.txt").read_text(encoding="utf-8")
        assert text == shown, "the page has changed: python -m tools.pictures takes the pictures again"
