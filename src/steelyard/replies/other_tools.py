"""Rules by which other tools read multiple-choice replies, so that figures published with them can be matched.

They are worse readers than `read_choice`: they take letters out of words and miss what is said in a sentence. Each
takes the reply as it came, reasoning included, and gives one letter, or "" where its tool reads none and counts the
reply as wrong. Where a tool knows only A to D, ours goes as far as the question does.
"""

# Why it is so, and what was rejected: docs/decisions/tables-rules-of-other-tools.md

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def strict_only_letter(reply: str, count: int) -> str:
    r"""The reply, if it is one letter and nothing but white space around it.

    This is exact match after `strip`, the strictest rule in use; no one tool's code was compared with it. It is not
    LawBench's, which takes the only option letter that occurs anywhere in the reply (`multi_choice_judge` in
    `evaluation/utils/function_utils.py`), nor lm-evaluation-harness's strict match, which wants its prompt's sentence.

    >>> strict_only_letter(" B\n", 4), strict_only_letter("B.", 4), strict_only_letter("E", 4)
    ('B', '', '')
    """
    letter = reply.strip()
    return letter if len(letter) == 1 and letter in _ALPHABET[:count] else ""


def last_letter(reply: str, count: int) -> str:
    """The last capital letter that is an option's, though it be part of a word.

    Source: GAOKAO-Bench, `Bench/bench_function.py`, question type `single_choice` (`[A-D]` in the reversed reply);
    OpenCompass 0.5.4, `last_option_postprocess`.

    >>> last_letter("B. As a Dane would say", 4), last_letter("none", 4)
    ('D', '')
    """
    last = max(_ALPHABET[:count], key=reply.rfind)
    return last if last in reply else ""


def first_option(reply: str, count: int) -> str:
    r"""The letter by the first of 53 patterns that holds one, tried in their order.

    Source: OpenCompass 0.5.4, `first_option_postprocess` in `opencompass/utils/text_postprocessors.py`, with its
    default `cushion=True`: where nothing else matches, any capital letter of an option is taken, in whichever word.
    Its faults are part of it: a missing comma fuses `故选X` and `只有X是对`, so that neither is known; a pattern with
    white space in its group finds no letter; a match that holds several letters gives the first in the alphabet.

    >>> first_option("Based on this, the answer is (C).", 4), first_option("故选D", 4)
    ('C', 'D')
    >>> first_option("Being asked, I say nothing", 4)
    'B'
    """
    options = _ALPHABET[:count]
    text = reply.strip()
    for find in _FIRST_OPTION:
        matched = find(text, options)
        letter = next((option for option in options if option in matched), "")
        if letter:
            return letter
    return ""


def _by_pattern(pattern: str, text: str, options: str) -> str:
    """What the first group holds, or the whole match where that is empty."""
    match = re.search(pattern.replace("§", f"[{options}]"), text, re.DOTALL)
    return (match.group(1) or match.group(0)) if match else ""


def _boxed(lead: str, text: str, options: str) -> str:
    """`lead`, anything, `boxed{X}`: in one pass, for whatever holds behind a later lead holds behind the first."""
    start = re.search(lead, text)
    match = start and re.compile(rf"boxed\{{([{options}])\}}").search(text, start.end())
    return match.group(1) if match else ""


def _ended(lead: str, text: str, options: str) -> str:  # noqa: ARG001  # as the other patterns have it
    r"""`lead\s?(\S+)(?:。|$)`, which looks through the whole text again for each lead in one without white space."""
    at, pattern = 0, re.compile(rf"{lead}\s?(\S++)")
    while match := pattern.search(text, at):
        start, end = match.span(1)
        if end == len(text):
            return match.group(1)
        if (stop := text.rfind("。", start + 1, end)) >= 0:
            return text[start:stop]
        at = max(start, end - len(lead))  # every lead before the last of these characters meets the same end
    return ""


_ENGLISH: Final = r"\s+\(?(§)\)?"

_FIRST_OPTION: Final[tuple[Callable[[str, str], str], ...]] = (
    *(
        partial(_by_pattern, pattern)
        for pattern in (
            *(rf"答案{middle}\s*(§)" for middle in ("是?", r"是?\s*：", r"是?\s*:", "选项应?该?是", "选项应?该?为")),
            *(rf"答案{middle}\s*(§)" for middle in ("应该?是", "应该?选", r"选项为?\s*：")),
            r"答案选项为?\s+\(?\*?\*?(§)\*?\*?\)?",
            *(rf"答案{middle}\s*(§)" for middle in (r"选项是?\s*:", "为", "选")),
            r"选择?\s*(§)",
            r"故选?\s*(§)只有选?项?\s?(§)\s?是?对",
            *(rf"只有选?项?\s?(§)\s?{end}" for end in ("是?错", "不?正确", "错误")),
            *(rf"说法{what}选?项?的?是\s?(§)" for what in ("不?对", "不?正确", "错误")),
            *(rf"(§)\s?是正确{end}" for end in ("的", "答案")),
            r"选项\s?(§)\s?正确",
            r"所以答\s?(§)",
            *(rf"所{end}\s?(§[.。$]?$)" for end in ("以", "有")),
            r"[\s，：:,](§)[。，,\.]?$",
            r"[\s，,：:][故即](§)[。\.]?$",
            r"[\s，,：:]因此(§)[。\.]?$",
            *(rf"{lead}\s?(§)[。\.]?$" for lead in ("[是为。]", "因此", "显然")),
        )
    ),
    *(partial(_ended, f"答案{middle}") for middle in ("是", "应该是", "为")),
    *(
        partial(_by_pattern, pattern)
        for pattern in (
            r"(?i)ANSWER\s*:\s*(§)",
            rf"[Tt]he answer is:?{_ENGLISH}",
            r"[Tt]he answer is:?\s+\(?\*?\*?(§)\*?\*?\)?",
            *(
                rf"[Tt]he {what}:?{_ENGLISH}"
                for what in ("answer is option", "correct answer is", "correct answer is option")
            ),
        )
    ),
    *(partial(_boxed, rf"[Tt]he correct {what} is:?") for what in ("answer", "option", "answer option")),
    *(
        partial(_by_pattern, pattern)
        for pattern in (
            rf"[Tt]he answer to the question is:?{_ENGLISH}",
            r"^选项\s?(§)",
            r"^(§)\s?选?项",
            r"(\s|^)§[\s。，,：:\.$]",
            r"1.\s?(.*?)$",
            r"1.\s?(§)[.。$]?$",
            "(§):",
            "(§)",
        )
    ),
)

RULES: Final[Mapping[str, Callable[[str, int], str]]] = MappingProxyType(
    {"strict_only_letter": strict_only_letter, "last_letter": last_letter, "first_option": first_option}
)
"""The rules by name; each takes a reply and the number of options."""
