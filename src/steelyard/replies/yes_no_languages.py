"""Verdicts in languages other than English and Chinese: yes and no as a judge says them there.

Such words are short, and some mean other things in English or in their own language ("non", "si", "ja"). So one counts
only where it stands as a verdict does: alone in its line, at the beginning with a sign behind it, between marks, or
behind a label ("Veredicto: sí").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import lexicon
from steelyard.replies.judge_reply import VerdictForm, at_both_ends

_LISTS: Final[Mapping[str, Sequence[str]]] = lexicon("verdicts")
_LABELS: Final = _LISTS["labels"]


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_SIGNS: Final = r"[\s\"'“”«»„(\[{<*_$✅❌✔✖✓✗☑☒️>|.¡~-]"
_WORD: Final = (
    rf"(?<![^\W_])(?:(?P<no>{_any(_LISTS['no'])})|(?P<yes>{_any(_LISTS['yes'])})|(?P<plain>yes|no))(?![^\W_]|[-'’][^\W_])"
    r"(?!\s{0,2}(?:/|\||oder|ou|o|или|или|または|か|또는)\s{0,2}[^\W_])"
)
_WORDS: Final = re.compile(rf"(?:\A|[\n:：=【>\[\]{{]|[–—-][ \t]){_SIGNS}{{0,12}}{_WORD}")
"""Looked for only where a verdict may begin: a tenth of the time that every word would take."""
_ALONE: Final = re.compile(_WORD)
_MARKS: Final = r"[\s\"'“”«»„(\[{<*_$✅❌✔✖✓✗☑☒️]{0,8}"
_LINE_BEGINS: Final = re.compile(r"^[\s>(\[{\"'«|.¡_~*-]{0,12}\Z", re.MULTILINE)
_LINE_ENDS: Final = re.compile(r"[ \t.!。)\]}\"'»|;,_~*-]{0,12}$", re.MULTILINE)
_OPENS: Final = re.compile(r"\A[\s(\[{\"'«<$|>:.¡✅❌✔✖✓✗☑☒️-]{0,10}\Z")
_OPENING_ENDS: Final = re.compile(r"[\"'»)\]]?\s{0,2}(?:[.,;:!。、,،؛।]|[–—]|-\s|\n|\Z)")
_MARKED: Final = re.compile(
    rf"(?:\[\[|【|\\boxed\s?\{{|<(?:final_)?(?:answer|verdict|result)>|\[RESULT\]:?){_MARKS}\Z", re.IGNORECASE
)


def _behind(labels: Sequence[str]) -> re.Pattern[str]:
    """One of the labels, perhaps with an adjective, and its sign."""
    return re.compile(
        rf"(?<![^\W_])(?:{_any(labels)})(?:[ \t][^\W\d_]{{2,14}})?[*_ \t]{{0,3}}"
        rf"(?:[:：=]|[-–—]>?)[ \t]{{0,3}}\n?{_MARKS}\Z",
        re.IGNORECASE,
    )


_ENGLISH: Final = ("verdict", "conclusion", "final answer", "answer", "judge?ment", "result", "decision")
_BEHIND_LABEL: Final = re.compile(r"[\s.,;:!。、)\]}\"'»*_<|–—-]|\Z")
_FORMS: Final = (
    VerdictForm("line", Strength.DECLARED, _LINE_BEGINS, _LINE_ENDS, reach=24),
    VerdictForm("marked", Strength.DECLARED, _MARKED, reach=40),
    VerdictForm("labelled", Strength.DECLARED, _behind([*_LABELS, *_ENGLISH]), _BEHIND_LABEL, reach=80),
    VerdictForm("opening", Strength.CONCLUDED, _OPENS, _OPENING_ENDS, reach=16),
)
_FORMS_OF_PLAIN: Final = (VerdictForm("labelled", Strength.DECLARED, _behind(_LABELS), _BEHIND_LABEL, reach=80),)
"""Of yes and no, which are read with all the rules of English elsewhere."""


def verdicts_in_other_languages(text: str, most: int) -> Iterator[Candidate]:
    """The verdicts of a judge's reply in other languages, in order.

    Args:
        text: the reply, folded.
        most: how many words at either end are examined.

    >>> [verdict.value for verdict in verdicts_in_other_languages("Veredicto: sí, se menciona.", 20)]
    ['yes']
    >>> [*verdicts_in_other_languages("The non-binding text says ja or nein.", 20)]
    []
    """
    for match in at_both_ends(_WORDS, text.lower(), most):
        group = str(match.lastgroup)
        forms = _FORMS_OF_PLAIN if match["plain"] else _FORMS
        candidates = (form.candidate(text, *match.span(group), match["plain"] or group) for form in forms)
        if (candidate := next(filter(None, candidates), None)) is not None:
            yield candidate


def said_alone_elsewhere(text: str) -> str:
    """The label of a folded text that is such a word and nothing else; "" where it is none.

    >>> said_alone_elsewhere("Nein."), said_alone_elsewhere("no")
    ('no', '')
    """
    match = _ALONE.fullmatch(text.strip(" \t\n.!。\"'[]()¡«»").lower())
    return "" if match is None or match["plain"] else str(match.lastgroup)
