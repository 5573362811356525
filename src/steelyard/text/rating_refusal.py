"""Whether a judge declines to judge."""

from __future__ import annotations

import re
from typing import Final

_REFUSAL: Final = re.compile(
    r"\b(?:i(?:'m|\sam)?|we)\s(?:\w{1,14}ly\s|am\s|sorry,?\s(?:but\s)?(?:i\s)?|apologi[sz]e,?\s(?:but\s)?(?:i\s)?"
    r"|afraid\s(?:that\s)?i\s|must\s|have\sto\s){0,3}"
    r"(?:cannot|can't|can\snot|could\snot|couldn't|unable\sto|not\sable\sto|won't|will\snot|decline|refuse|refrain"
    r"|not\scomfortable|not\sgoing\sto|do\snot\shave\s(?:the\s|enough\s|any\s|sufficient\s|access)"
    r"|don't\shave\s(?:the\s|enough\s|any\s|sufficient\s|access)|not\squalified)"
    r"|\b(?:unable\sto|cannot\sbe|can't\sbe|not\spossible\sto|impossible\sto"
    r"|cannot)\s(?:be\s)?(?:\w{1,14}ly\s)?(?:assess|evaluat|rat|scor|judg|provid|giv|determin|assign|complet)"
    r"|\bi(?:'m|\sam)\ssorry\b|\bas\san\sai\b"
    r"|(?:无法|不能|没办法|难以|拒绝|不便)[^。\n]{0,16}(?:评|打分|判断|给出|提供|回答|完成|协助|帮助)|抱歉|对不起|作为一?个?(?:AI|人工智能|语言模型)",
    re.IGNORECASE,
)

_LIMIT: Final = re.compile(
    r"\b(?:cannot|can't|not)\b[^.\n]{0,40}\b(?:higher|lower|(?:more|less|better)\sthan|full\smarks)\b", re.IGNORECASE
)
"""Words of a judge who names a limit and declines nothing."""


def is_refusal(folded: str) -> bool:
    """Whether a reply without a rating says that the judge cannot or will not give one.

    >>> is_refusal("I'm sorry, but I cannot evaluate this summary."), is_refusal("The summary is poor.")
    (True, False)
    """
    return _REFUSAL.search(folded) is not None and _LIMIT.search(folded) is None
