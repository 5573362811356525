"""Reading what a model said: which option, rating, verdict, label, list or SQL statement a reply gives, or none.

Nothing is guessed: a reply that gives no verdict, or several, is left unparsed, with the kind and the words seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.replies.abstention import is_abstention
    from steelyard.replies.choice import read_choice
    from steelyard.replies.label import read_label
    from steelyard.replies.listing import Listing, read_list, read_listing
    from steelyard.replies.options import ChoiceReading
    from steelyard.replies.preference import read_preference
    from steelyard.replies.rating import read_rating
    from steelyard.replies.sql import SqlReading, read_sql
    from steelyard.replies.verdict import Scale, Verdict
    from steelyard.replies.yes_no import read_yes_no
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.replies.options:ChoiceReading",
        "steelyard.replies.listing:Listing",
        "steelyard.replies.verdict:Scale",
        "steelyard.replies.sql:SqlReading",
        "steelyard.replies.verdict:Verdict",
        "steelyard.replies.abstention:is_abstention",
        "steelyard.replies.choice:read_choice",
        "steelyard.replies.label:read_label",
        "steelyard.replies.listing:read_list",
        "steelyard.replies.listing:read_listing",
        "steelyard.replies.preference:read_preference",
        "steelyard.replies.rating:read_rating",
        "steelyard.replies.sql:read_sql",
        "steelyard.replies.yes_no:read_yes_no",
    )

__all__ = [
    "ChoiceReading",
    "Listing",
    "Scale",
    "SqlReading",
    "Verdict",
    "is_abstention",
    "read_choice",
    "read_label",
    "read_list",
    "read_listing",
    "read_preference",
    "read_rating",
    "read_sql",
    "read_yes_no",
]
