"""Do the passages that an answer cites support what it says? Its citation marks against the retrieved passages.

    citation_recall = statements that all the passages they cite together support / statements
    citation_precision = right citations / citations

A statement is a sentence of the answer; the marks in it, or behind its full stop, are what it cites. A citation is
right if its statement is supported and it has a part in that: its passage supports the statement alone, or the other
cited ones do not without it. A mark with a number that no passage has is wrong.

Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations" (ALCE, arXiv:2305.14627),
section 3.3. Deviations: a model is asked where ALCE takes a classifier of entailment; not every sentence is a statement
(questions, headings, lines that end in a colon, header rows of tables, code and lists of sources are none, see
`cited_statements`); a mark that begins a line belongs to the statement behind it; to an answer that only says that it
has no answer neither score applies; an answer without marks has no precision, where ALCE gives 0; the passages are
shown with their numbers, so that a statement about "passage 2" is understood.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from steelyard.constraints import Share, Within
from steelyard.prompts.conversation import transcript_of
from steelyard.replies.abstention import is_abstention
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Verdict
from steelyard.scorers.judges.cited_statements import CitedStatement, Passages, statements
from steelyard.scorers.judges.declared import AskingScorer, PromptForm, at_least, count_yes
from steelyard.scorers.judges.judge import takes_model
from steelyard.scorers.judges.verdicts import (
    claims_without_passages,
    combined_verdict,
    contexts_of,
    not_applicable,
    nothing_to_support,
    read_numbered,
    score_of,
)
from steelyard.scorers.judges.windows import ContextWindow, WindowTokens
from steelyard.types import PASSAGES, Asks, Output, Reply, Sample, Score, ScoreInfo, StageInfo, token_weight

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
        detail = {"claims": _listed(stated, repeats)}
        precision, recall = _NAMES
        passes = at_least(self.threshold)
        recalled = score_of(
            recall, [_recall(stated, of) for of in repeats], candidate=answer, passes=passes, detail=detail
        )
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


def _recall(stated: Sequence[CitedStatement], verdicts: Mapping[Pair, Verdict]) -> Verdict:
    supports = [_support(no, statement, verdicts) for no, statement in enumerate(stated)]
    return combined_verdict(supports, count_yes(supports) / len(supports))


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


def _listed(stated: Sequence[CitedStatement], repeats: Sequence[Mapping[Pair, Verdict]]) -> list[dict[str, Any]]:
    """Each statement with the verdict on all that it cites; "" if unparsed."""
    return [
        {
            "claim": statement.text,
            "verdict": (support := _support(no, statement, verdicts)).label,
            "reason": support.reason if support.label else "",
        }
        | ({"repeat": repeat} if len(repeats) > 1 else {})
        for repeat, verdicts in enumerate(repeats, start=1)
        for no, statement in enumerate(stated)
    ]
