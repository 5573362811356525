"""Do the passages that an answer cites support what it says? Its citation marks against the retrieved passages.

    citation_recall = statements that all the passages they cite together support / statements
    citation_precision = right citations / citations

A statement is a sentence of the answer; the marks in it, or behind its full stop, are what it cites. A citation is
right if its statement is supported and it has a part in that: its passage supports the statement alone, or the other
cited ones do not without it. A mark with a number that no passage has is wrong.

Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations" (ALCE, arXiv:2305.14627),
section 3.3. Deviations: a model is asked where ALCE takes a classifier of entailment; not every sentence is a statement
(questions, headings, lines that end in a colon, header rows of tables, code and lists of sources are none); a mark that
begins a line belongs to the statement behind it; to an answer that only says that it has no answer neither score
applies; an answer without marks has no precision, where ALCE gives 0; the passages are shown with their numbers, so
that a statement about "passage 2" is understood.

A mark belongs to the sentence that it stands in or behind; one that begins a line, or stands in a sentence that ends in
a colon, to the sentence that follows. No statements are: questions without marks; what ends in a colon; headings,
header rows of tables, fenced code, and a list of sources behind the text (with its heading, or as footnotes
`[^1]: Handbook`), with the marks in them. Inline code holds no marks and is no statement alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final

from steelyard.constraints import Share, Within
from steelyard.plain_json import grouped
from steelyard.prompts.conversation import transcript_of
from steelyard.replies.abstention import is_abstention
from steelyard.replies.answer_text import answer_of
from steelyard.replies.citations import Citation, read_citations
from steelyard.replies.judge_reply import Verdict
from steelyard.retrieval.chunk import sentences
from steelyard.scorers.judges.declared import (
    AskingScorer,
    PromptForm,
    at_least,
    claims_without_passages,
    combined_verdict,
    contexts_of,
    count_yes,
    listed,
    not_applicable,
    nothing_to_support,
    read_numbered,
    score_of,
)
from steelyard.scorers.judges.judge import takes_model
from steelyard.scorers.judges.windows import ContextWindow, WindowTokens
from steelyard.types import PASSAGES, Asks, Output, Reply, Sample, Score, ScoreInfo, StageInfo, token_weight

_COLONS: Final = (":", "：")
_NO_STATEMENT: Final = ("?", "？", *_COLONS)
_NEXT_WORD: Final = 40

_CODE_BLOCK: Final = re.compile(
    r"^[ \t]*(?P<fence>`{3,}+|~{3,}+)[^`\n]*$(?:[\s\S]*?(?:^[ \t]*(?P=fence)[`~]*[ \t\r]*$)|[\s\S]*)", re.MULTILINE
)
_INLINE_CODE: Final = re.compile(r"`[^`\n]+`")
_TITLE: Final = (
    r"^[ \t]*(?:#{1,6}[ \t]+)?[*_(（]{0,3}"
    r"(?:(?:cited[ ])?(?:sources?|references?|citations?|footnotes?)(?:[ ](?:used|cited))?"
    r"|works[ ]cited|bibliography|参考(?:资料|文献|来源)|(?:资料|引用|信息)?来源|引用|出处|脚注)[ \t]?[*_]{0,3}"
)
_ENTRY: Final = r"(?:[-*+•][ \t]|\d{1,3}[.)、．]|[\[【(（])"
_CONTINUED: Final = r"(?:\n(?:[ ]{2}|\t)[ \t]*+(?![-*+•\d\[【(（#|`])\S[^\n]*+)*+"
_SOURCE_LIST: Final = re.compile(
    rf"{_TITLE}[:：]?[*_]{{0,3}}[ \t\r]*(?:(?:\n[ \t\r]*+)++{_ENTRY}[^\n]*+{_CONTINUED})++",
    re.IGNORECASE | re.MULTILINE,
)
_SOURCE_LINE: Final = re.compile(
    rf"(?P<title>{_TITLE}[:：][*_]{{0,3}}[ \t]*)(?P<listed>[\[【(（][^\n]*)$", re.IGNORECASE | re.MULTILINE
)
_LINES_WITHOUT_STATEMENTS: Final = re.compile(
    rf"^[ \t]*\[(?:\^[^\]\n]{{1,40}}\]:|\d{{1,3}}\]:[ \t]*<?https?://)[^\n]*+{_CONTINUED}"  # footnotes, links
    r"|^[ ]{0,3}#{1,6}[ \t][^\n]*"
    r"|^[^\n|]*\|[^\n]*(?=\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t\r]*$)",
    re.MULTILINE,
)
_COLON_ENDS_LINE: Final = re.compile(r"[:：][*_ \t\r]*\n")
_NOT_BREAK: Final = re.compile(r"[^\n]")

Passages = tuple[int, ...]
"""Positions of passages, from 0."""


@dataclass(frozen=True, slots=True)
class CitedStatement:
    """A sentence of an answer.

    Args:
        text: without its marks.
        cited: positions of the passages that it cites, from 0, each once.
        unknown: how many of the numbers that it cites no passage has.
    """

    text: str
    cited: Passages
    unknown: int

    @property
    def checks(self) -> tuple[Passages, ...]:
        """The sets of passages against which it is checked: all that it cites, each alone, and all but each."""
        alone = [(passage,) for passage in self.cited]
        without = [tuple(other for other in self.cited if other != passage) for passage in self.cited]
        return tuple(dict.fromkeys(passages for passages in (self.cited, *alone, *without) if passages))


def statements(answer: str, passages: int, first: int = 1) -> list[CitedStatement]:
    r"""The sentences of an answer that state something, with what each cites.

    Args:
        answer: with its marks.
        passages: how many there are.
        first: the number of the first one.

    >>> [(stated.text, stated.cited, stated.unknown) for stated in statements("It rains [1]. Wind blows.[2][9]", 2)]
    [('It rains.', (0,), 0), ('Wind blows.', (1,), 1)]
    >>> [(stated.text, stated.cited) for stated in statements("Summary:\n[1] It rains.\n\nSources:\n[1] Handbook", 2)]
    [('It rains.', (0,))]
    """
    prose = _prose(answer)
    without_code = _INLINE_CODE.sub(_blanked, prose)
    marks = read_citations(without_code)
    ends = [0, *(mark.end for mark in marks)]
    between = [prose[end : mark.start] + " " * (mark.end - mark.start) for end, mark in zip(ends, marks, strict=False)]
    text = "".join([*between, prose[ends[-1] :]])
    lines = _lines_begun(text, marks)
    spans = [(start, end) for start, end in sentences(_with_breaks(text, marks, lines)) if _has_words(text[start:end])]
    cited = grouped(
        (_sentence_of(mark, line is not None, text, spans), mark) for mark, line in zip(marks, lines, strict=True)
    )
    return [
        _statement(_joined(text[start:end]), cited.get(no, ()), passages, first)
        for no, (start, end) in enumerate(spans)
        if no in cited or (_has_words(without_code[start:end]) and not _ends_in(text[start:end], _NO_STATEMENT))
    ]


def _prose(answer: str) -> str:
    """The answer with blanks in the place of code blocks and of lines that state nothing; offsets and lines stay."""
    text = _CODE_BLOCK.sub(_blanked, answer)
    # "Sources:" at the beginning may be what the question asks for.
    begin = len(text) - len(text.lstrip())
    text = _SOURCE_LIST.sub(lambda match: match.group() if match.start() <= begin else _blanked(match), text)
    text = _SOURCE_LINE.sub(lambda match: match.group() if match.start() <= begin else _without_title(match), text)
    return _LINES_WITHOUT_STATEMENTS.sub(_blanked, text)


def _blanked(match: re.Match[str]) -> str:
    return _NOT_BREAK.sub(" ", match.group())


def _without_title(match: re.Match[str]) -> str:
    """Of "Sources: [1], [2]" the marks, which belong to the text before; of "Sources: [1] Handbook" nothing."""
    marks = read_citations(match["listed"])
    ends = [0, *(mark.end for mark in marks)]
    starts = [*(mark.start for mark in marks), len(match["listed"])]
    if any(_has_words(match["listed"][end:start]) for end, start in zip(ends, starts, strict=True)):
        return _blanked(match)
    return " " * len(match["title"]) + match["listed"]


def _lines_begun(text: str, marks: Sequence[Citation]) -> list[int | None]:
    """For each mark that begins a line, the offset of the line break before it, -1 in the first line; else None."""
    lines: list[int | None] = []
    end, line = 0, -1
    begins = True
    for mark in marks:
        last_break = text.rfind("\n", end, mark.start)
        if last_break >= 0:
            begins, line, end = True, last_break, last_break
        begins = begins and not text[end : mark.start].strip()
        lines.append(line if begins else None)
        end = mark.end
    return lines


def _with_breaks(text: str, marks: Sequence[Citation], lines: Sequence[int | None]) -> str:
    """The text with a sure end of sentence behind a colon that ends a line, and before a line that a mark begins.

    Elsewhere a long line without a full stop may go on in the next one, as it does if that begins with a small letter.
    """
    characters = list(text)
    for match in _COLON_ENDS_LINE.finditer(text):
        characters[match.end() - 1] = "\v"
    for mark, line in zip(marks, lines, strict=True):
        if line is not None and line >= 0 and not text[mark.end : mark.end + _NEXT_WORD].lstrip()[:1].islower():
            characters[line] = "\v"
    return "".join(characters)


def _sentence_of(mark: Citation, begins_line: bool, text: str, spans: Sequence[tuple[int, int]]) -> int:  # noqa: FBT001  # of the mark
    """The number of the sentence that a mark belongs to."""
    next_one = bisect_right(spans, mark.start, key=lambda span: span[0])
    if next_one == 0:
        return 0
    number, last = next_one - 1, len(spans) - 1
    start, end = spans[number]
    if number < last and mark.start >= end and begins_line and text.find("\n", mark.end, spans[next_one][0]) < 0:
        return next_one
    return next_one if number < last and _ends_in(text[start:end], _COLONS) else number


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _ends_in(sentence: str, stops: tuple[str, ...]) -> bool:
    return sentence.rstrip("*_ ").endswith(stops)


def _statement(text: str, marks: Sequence[Citation], passages: int, first: int) -> CitedStatement:
    numbers = dict.fromkeys(number - first for mark in marks for number in mark.numbers)
    cited = tuple(number for number in numbers if 0 <= number < passages)
    return CitedStatement(text, cited, len(numbers) - len(cited))


def _joined(text: str) -> str:
    """A sentence on one line, without the blanks that its marks left before punctuation."""
    words = " ".join(text.split())
    for stop in ".,;:!?。，；：！？":
        words = words.replace(f" {stop}", stop)
    return words.lstrip(":： ")  # "[1]: It rains."


_NAMES: Final = ("citation_precision", "citation_recall")
_PROMPT: Final = "citations"
_NO_PASSAGE: Final = Verdict("scored", 0.0, label="no", reason="no passage has this number")
_UNCITED: Final = Verdict("scored", 0.0, label="no", reason="it cites nothing")

Pair = tuple[int, Passages]
"""The number of a statement, and the passages against which it is checked."""


@takes_model
@dataclass(frozen=True, slots=True)
class Citations(AskingScorer):
    """Whether an answer's citations are right, and all of it is supported by what it cites: two scores in [0, 1].

    Marks are `[1]`, `[2, 5]`, `[2-4]`, `【4†source】`, `[^3]`, `(passage 2)`; 1 is the first passage of those that were
    retrieved. An answer without marks has no precision and a recall of 0. To blank answers, and to those that only say
    that they have no answer, neither applies. If no output of the run has contexts, the target does not return them,
    and the scores apply to none.

    Args:
        threshold: the least precision and recall that pass, in [0, 1]; null: nothing passes or fails.
        first: the number of the first passage, 0 or 1.
        window_tokens: estimated tokens of the contexts that one call shows, 50 or more; what one statement cites is
            shown together in any case.
        template: the user's own prompt; it may name {{question}}, {{contexts}}, {{claims}} (numbered statements, each
            behind the numbers of its passages), {{count}} and {{mark}}.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="1. NO")
    asks: ClassVar[Mapping[str, PromptForm]] = {_PROMPT: PromptForm(("question", "contexts", "claims"), ("count",))}

    threshold: Share | None = None
    first: Annotated[int, Within(0, 1)] = 1
    window_tokens: WindowTokens = 3000
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Two shares."""
        return tuple(ScoreInfo(name, (0.0, 1.0), threshold=self.threshold) for name in _NAMES)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Sequence[Score]:
        """Judge one answer."""
        answer, contexts = answer_of(output), contexts_of(sample, output)
        unjudged = [nothing_to_support(name, output, contexts) for name in _NAMES]
        if unjudged[0] is not None:
            return [score for score in unjudged if score is not None]
        stated = statements(answer, len(contexts), self.first)
        if not stated:
            return [not_applicable(name, "the answer states nothing", lacks="claims") for name in _NAMES]
        if not contexts and not any(statement.unknown for statement in stated):
            return [not_applicable(name, "there are no contexts", lacks=PASSAGES) for name in _NAMES]
        if is_abstention(" ".join(statement.text for statement in stated)):
            why = "the answer only says that it has no answer"
            return [not_applicable(name, why, lacks="claims" if contexts else PASSAGES) for name in _NAMES]
        question = transcript_of(sample.input)
        verdicts: list[dict[Pair, Verdict]] = [{} for _ in range(self.judge.repeats)]
        for pairs in _batches(stated, contexts, self.window_tokens):
            messages = self.prompts[_PROMPT].messages(
                self.judge.language_for(question, answer), self._shown(question, stated, contexts, pairs)
            )

            def read(reply: Reply, pairs: Sequence[Pair] = pairs) -> dict[Pair, Verdict]:
                return dict(zip(pairs, read_numbered(reply, len(pairs)), strict=True))

            replies = await self.judge.verdicts(ask, messages, read, schema=self.judge.numbered_schema(len(pairs)))
            verdicts = [{**before, **more} for before, more in zip(verdicts, replies, strict=True)]
        scores = self._scores(stated, verdicts, answer)
        return (
            scores
            if contexts
            else [score if score.value is None else claims_without_passages(score) for score in scores]
        )

    def _shown(
        self, question: str, stated: Sequence[CitedStatement], contexts: Sequence[str], pairs: Sequence[Pair]
    ) -> dict[str, str]:
        """The values of the prompt for some checks."""
        shown = sorted({passage for _, passages in pairs for passage in passages})
        window = ContextWindow(tuple(self.first + passage for passage in shown), tuple(contexts[no] for no in shown))
        lines = [
            f"{line}. (passage {', '.join(str(self.first + passage) for passage in passages)}) {stated[no].text}"
            for line, (no, passages) in enumerate(pairs, start=1)
        ]
        return {
            "question": question,
            "contexts": window.shown(),
            "claims": "\n".join(lines),
            "count": str(len(pairs)),
        }

    def _scores(
        self, stated: Sequence[CitedStatement], repeats: Sequence[Mapping[Pair, Verdict]], answer: str
    ) -> list[Score]:
        supports = [[_support(no, statement, of) for no, statement in enumerate(stated)] for of in repeats]
        texts = [statement.text for statement in stated]
        detail = {"claims": listed("claim", [zip(texts, verdicts, strict=True) for verdicts in supports])}
        precision, recall = _NAMES
        passes = at_least(self.threshold)
        recalls = [combined_verdict(verdicts, count_yes(verdicts) / len(verdicts)) for verdicts in supports]
        recalled = score_of(recall, recalls, candidate=answer, passes=passes, detail=detail)
        if not any(statement.cited or statement.unknown for statement in stated):
            return [not_applicable(precision, "the answer cites nothing", lacks="citations"), recalled]
        verdicts = [_precision(stated, of) for of in repeats]
        return [score_of(precision, verdicts, candidate=answer, passes=passes, detail=detail), recalled]


def _batches(stated: Sequence[CitedStatement], contexts: Sequence[str], tokens: int) -> Iterator[list[Pair]]:
    """The checks in groups whose passages fit one call; those of one statement stay together."""
    group: list[Pair] = []
    shown: set[int] = set()
    for no, statement in enumerate(stated):
        if not statement.cited:
            continue
        wanted = shown.union(statement.cited)
        if group and sum(token_weight(contexts[passage]) for passage in wanted) > tokens:
            yield group
            group, wanted = [], set(statement.cited)
        group = [*group, *((no, passages) for passages in statement.checks)]
        shown = wanted
    if group:
        yield group


def _support(no: int, statement: CitedStatement, verdicts: Mapping[Pair, Verdict]) -> Verdict:
    """The verdict on a statement and all that it cites."""
    if statement.cited:
        return verdicts[no, statement.cited]
    return _NO_PASSAGE if statement.unknown else _UNCITED


def _precision(stated: Sequence[CitedStatement], verdicts: Mapping[Pair, Verdict]) -> Verdict:
    judged: list[Verdict] = []
    for no, statement in enumerate(stated):
        judged += [_citation(no, statement, passage, verdicts) for passage in statement.cited]
        judged += [_NO_PASSAGE] * statement.unknown
    return combined_verdict(judged, count_yes(judged) / len(judged))


def _citation(no: int, statement: CitedStatement, passage: int, verdicts: Mapping[Pair, Verdict]) -> Verdict:
    """The verdict on one citation: that on its statement, unless the passage has no part in the support."""
    whole, alone = verdicts[no, statement.cited], verdicts[no, (passage,)]
    others = tuple(other for other in statement.cited if other != passage)
    if whole.value != 1 or alone.value == 1 or not others:
        return whole
    without = verdicts[no, others]
    if without.value == 0:  # the support needs it, whatever it does alone
        return whole
    return without if without.value is None else alone
