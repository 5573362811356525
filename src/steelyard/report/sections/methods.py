"""The footnotes of a page: each statistical method behind its figures, explained in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steelyard.analysis.comparison.comparison_values import Comparison, PairedDifference
from steelyard.report.section import Section, Sentence

_METHODS: Final = {
    "Newcombe": "interval for the difference of two rates over the same samples, made from the interval of each rate",
    "paired percentile bootstrap": "interval from the differences of samples that are drawn again and again",
    "t interval": "interval from the spread of the samples' differences",
    "Clopper-Pearson": "how many samples could change although none of these did",
    "confidence sequence": "interval that holds however often one looks, and whenever one stops",
    "exact McNemar": "of the samples that only one run got right, how unlikely so uneven a split is by chance",
    "sign-flip permutation": "how often so large a mean arises where each sample's difference has a random sign",
    "paired t": "how unlikely so large a mean difference is, compared with the spread of the samples' differences",
    "betting test": "evidence that may be looked at after every sample",
    "Holm": "p-values of several comparisons, raised so that all verdicts together are wrong in at most 5 % of cases",
    "Benjamini-Hochberg": "p-values of groups or scores, raised so that at most 5 % of those called different are not",
}
"""How the name of a method begins -> what it does."""
_RATES: Final = "Wilson interval of a rate: the rates with which such data would not be surprising, in 95 % of cases"


def methods_section(comparison: Comparison | None) -> Section:
    """The interval, test and corrections of a page's differences, and the interval of its rates."""
    names = dict.fromkeys(name for name in _names(comparison) if name) if comparison else {}
    told = [
        Sentence(text, "fact", name) for name in names for start, text in _METHODS.items() if name.startswith(start)
    ]
    rates = Sentence(_RATES.partition(": ")[2], "fact", _RATES.partition(": ")[0])
    return Section("How this is computed", notes=(rates, *told), key="methods", level="page", folded=True)


def _names(comparison: Comparison) -> Iterator[str]:
    """The names of methods, as the differences hold them."""
    for pair in comparison.pairs:
        further = (*pair.further.groups, *(other.difference for other in pair.further.scores))
        for difference in (pair.headline, *further):
            yield from _of_difference(difference)


def _of_difference(difference: PairedDifference) -> tuple[str, str, str]:
    return difference.interval_method, difference.test, difference.adjustment.partition(" over ")[0]
