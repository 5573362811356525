"""Tokens of a text, estimated: no tokenizer is downloaded, and whoever shows such a number labels it an estimate.

A quarter of the ASCII characters and one for each other: English prose has about four characters a token in the
vocabularies of the large models, Chinese about one.
"""

from __future__ import annotations


def token_weight(text: str) -> float:
    """The estimate before rounding, which can be compared with a budget.

    >>> token_weight("abc"), token_weight("周易!")
    (0.75, 2.25)
    """
    plain = len(text.encode("ascii", "ignore"))
    return len(text) - plain + plain / 4


def estimate_tokens(text: str) -> int:
    """The estimate in whole tokens, rounded down.

    >>> estimate_tokens("four chars"), estimate_tokens("周易")
    (2, 2)
    """
    return int(token_weight(text))
