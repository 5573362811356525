"""Reads the verdicts of judges: a rating on a stated scale, yes or no, which of two is better, one of some labels.

No reader ever raises on a reply, and none invents: what cannot be read is `unparsed`, with its kind.
"""

from __future__ import annotations

from steelyard.text.rating_labels import read_label
from steelyard.text.rating_preference import read_preference
from steelyard.text.rating_reader import rating
from steelyard.text.rating_verdict import Scale, Verdict
from steelyard.text.rating_yes_no import read_yes_no

__all__ = ["Scale", "Verdict", "read_label", "read_preference", "read_rating", "read_yes_no"]


def read_rating(text: str, scale: Scale, *, name: str = "", finish: str = "stop") -> Verdict:
    """Read the rating that a judge gives on `scale`.

    Args:
        text: any text.
        scale: what was asked for; a number outside it is never moved into it.
        name: the aspect that was asked for, as in the prompt; tells its rating from those of other aspects.
        finish: why the model stopped; "length" tells a reply that was cut off from one without a rating.

    >>> read_rating("Coherence: 4", Scale(1, 5), name="Coherence").value
    4.0
    """
    return rating(text, scale, name=name, finish=finish)
