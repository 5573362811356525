"""What scorers and a suite say of how their scores are to be shown: scales, spreads, words, exams, crosses, breakdowns.

It goes into the manifest, so that a page made of a stored run knows it without the scorer's code. A key that has
nothing to say is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from steelyard.errors import ConfigError, did_you_mean
from steelyard.suite.objects import Suite
from steelyard.types import Scorer


def judged_manifest(suite: Suite, scorers: Sequence[Scorer]) -> dict[str, Any]:
    """What `scorers_say`, and the keys `crossed` and `breakdowns`, of a manifest, as far as there are any.

    Args:
        suite: what is run.
        scorers: of one of its targets.
    """
    crossed = [list(pair) for pair in suite.crossed]
    found = {**scorers_say(scorers), "crossed": crossed, "breakdowns": list(suite.breakdowns)}
    return {key: value for key, value in found.items() if value}


def scorers_say(scorers: Sequence[Scorer]) -> dict[str, Any]:
    """The keys `scales`, `spreads`, `words`, `exam` and `beside`: all of them, empty or not.

    Scorers say them by attributes of these names (`spread` the second): per score its lowest and highest value; scores
    to show as histograms; what 1 and 0 of a score are called; scores whose detail has letters and key; scores that
    read the same replies by another tool's rule, to be shown apart.
    """
    return {
        "scales": {name: [float(end) for end in ends] for name, ends in _of_all(scorers, "scales")},
        "spreads": [name for scorer in scorers for name in getattr(scorer, "spread", ())],
        "words": {name: list(words) for name, words in _of_all(scorers, "words")},
        "exam": _named(scorers, "exam"),
        "beside": _named(scorers, "beside"),
    }


def check_judged(suite: Suite, scores: Sequence[str]) -> None:
    """Look at scales, words, spreads, crossed scores and breakdowns before anything is sent.

    Args:
        suite: what is run.
        scores: every score that its scorers announce.

    Raises:
        ConfigError: what is wrong.
    """
    everyone = [*suite.scorers, *(one for several in suite.scorers_of.values() for one in several)]
    for name, ends in _of_all(everyone, "scales"):
        _check_scale(name, ends)
    for name, words in _of_all(everyone, "words"):
        _check_words(name, words)
    for scorer in everyone:
        for attribute in ("spread", "exam", "beside"):
            _check_names(attribute, getattr(scorer, attribute, ()), scores)
    for pair in suite.crossed:
        _check_pair(pair, scores)
    keys: Any = suite.breakdowns
    if isinstance(keys, str) or not all(isinstance(key, str) and key for key in keys):
        raise ConfigError(f"breakdowns takes a list of keys of the samples' metadata, not {keys!r}")


def _check_scale(name: str, ends: Sequence[Any]) -> None:
    if len(ends) != 2 or not all(isinstance(end, int | float) and isfinite(end) for end in ends) or ends[0] >= ends[1]:
        raise ConfigError(f"the scale of {name} must be its lowest and its highest value, such as (1, 5), not {ends!r}")


def _check_words(name: str, words: Any) -> None:
    if isinstance(words, str) or len(words) != 2 or not all(isinstance(word, str) for word in words):
        raise ConfigError(f"the words of {name} must be what its 1 and its 0 are called, not {words!r}")


def _check_names(attribute: str, names: Any, scores: Sequence[str]) -> None:
    if isinstance(names, str):
        raise ConfigError(f"{attribute} takes a tuple of scores, such as ({names!r},), not {names!r}")
    for name in names:
        if name not in scores:
            raise ConfigError(f"{attribute}: no scorer gives {name!r}{did_you_mean(str(name), scores)}")


def _check_pair(pair: Any, scores: Sequence[str]) -> None:
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise ConfigError(f"crossed takes pairs of two different scores, not {pair!r}")
    for name in pair:
        if name not in scores:
            raise ConfigError(f"crossed: no scorer gives {name!r}{did_you_mean(str(name), scores)}")


def _named(scorers: Sequence[Scorer], attribute: str) -> list[str]:
    """Names that scorers have in a tuple or list, each once."""
    return list(dict.fromkeys(name for scorer in scorers for name in getattr(scorer, attribute, ())))


def _of_all(scorers: Sequence[Scorer], attribute: str) -> list[tuple[str, Any]]:
    """(score, value) of a mapping that each scorer may have."""
    found: list[tuple[str, Any]] = []
    for scorer in scorers:
        given = getattr(scorer, attribute, None)
        found += given.items() if isinstance(given, Mapping) else ()
    return found
