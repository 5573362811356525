"""What is computed in a template is what Nunjucks prints, not what Jinja would."""

import pytest

from steelyard.config.conversion.templates import filled
from steelyard.errors import ConfigError

VALUES = {
    "nothing": None,
    "empty": [],
    "three": 3,
    "text_three": "3",
    "half": 2.5,
    "mixed": [True, None, 3.0],
    "words": "x-ray of\nbones",
    "apples": "7 apples",
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ nothing | upper }}{{ nothing | trim }}{{ missing | title }}", ""),
        ("{% if empty %}shown{% endif %}", "shown"),
        ("{% if nothing %}shown{% endif %}", ""),
        ("{% if text_three == 3 and three == '3' %}same{% endif %}", "same"),
        ("{% if text_three != 3 or text_three == '3.0' or words == 3 %}differ{% endif %}", ""),
        ("{% if missing == nothing %}same{% endif %}", "same"),
        ("{{ mixed | join('/') }}", "true//3"),
        ("{{ mixed | reverse }}", "3,,true"),
        ("{{ words.length }} {{ mixed.length }} {% if empty.length %}some{% else %}none{% endif %}", "14 3 none"),
        ("{{ words | title }}", "X-ray Of\nbones"),
        ("{{ half | round }} {{ 2.25 | round(1) }}", "3 2.3"),
        ("{{ apples | int }} {{ words | int(0) }} {{ apples | float }}", "7 0 7"),
        ("{{ words.upper | lower }}{{ words.__class__ | string }}", ""),
    ],
)
def test_a_part_is_computed_as_in_javascript(template, text):
    assert filled(template, VALUES) == text


def test_a_comparison_of_ours_is_no_filter_of_a_template():
    with pytest.raises(ConfigError, match="the filter compared"):
        filled("{{ three | compared }}", VALUES)
