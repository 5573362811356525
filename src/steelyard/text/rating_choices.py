"""Readers of verdicts in words: yes or no, which of two is better, one of given labels.

None of them raises on a reply, and none guesses: what cannot be read is `unparsed`, with its kind.
"""

from __future__ import annotations

from steelyard.text.rating_labels import read_label
from steelyard.text.rating_preference import read_preference
from steelyard.text.rating_yes_no import read_yes_no

__all__ = ["read_label", "read_preference", "read_yes_no"]
