"""Reads the verdicts of judges: a rating on a stated scale, yes or no, which of two is better, one of some labels.

No reader ever raises on a reply, and none invents: what cannot be read is `unparsed`, with its kind.
"""

from __future__ import annotations

from steelyard.text.rating_labels import read_label
from steelyard.text.rating_reader import read_rating

__all__ = ["read_label", "read_rating"]
