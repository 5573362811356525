"""What an index is asked with: the tokens of a text in one string, and those of a query that are worth asking for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from steelyard.text.tokens import is_stop, tokens

MOST_TERMS: Final = 256
MOST_POSTINGS: Final = 3_000
"""Places that a query looks at: some 2 ms, whatever words it is made of."""

_PLAIN: Final = re.compile(r"[a-z0-9]+")


def joined_terms(text: str) -> str:
    """The tokens of a text, blanks between them; none of them holds one.

    ASCII is what `tokens` makes of it in a tenth of the time.

    >>> joined_terms("Rain, 12 mm"), joined_terms("雨量")
    ('rain 12 mm', '雨 量 雨量')
    """
    return " ".join(_PLAIN.findall(text.lower()) if text.isascii() else tokens(text))


def query_terms(query: str, frequency: Callable[[str], int]) -> list[str]:
    """The different tokens of a query that are looked for, the rarest first.

    Function words are left out where anything else remains, and then the commonest tokens as soon as those before
    them have `MOST_POSTINGS` places together: what stands nearly everywhere changes no order and costs most of the
    time. At most `MOST_TERMS` are looked for.

    Args:
        query: any text.
        frequency: in how many chunks a token stands, or a number that it does not exceed.

    >>> query_terms("What is the amount of rain?", {"amount": 3, "rain": 2}.__getitem__)
    ['rain', 'amount']
    """
    found = dict.fromkeys(joined_terms(query).split(" ") if query else ())
    found.pop("", None)
    told = [term for term in found if not is_stop(term)] or list(found)
    kept: list[str] = []
    places = 0
    for count, term in sorted(((frequency(term), term) for term in told), key=lambda pair: pair[0])[:MOST_TERMS]:
        places += count
        if kept and places > MOST_POSTINGS:
            break
        kept.append(term)
    return kept
