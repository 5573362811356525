"""The `rag` suite: questions about documents, one run per target, scores on answers and on what was retrieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.scores.score_infos import rated_thing
from steelyard.data.rows import RowDataset
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import origin_keys
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import JudgedSuiteKeys, Suite
from steelyard.evaluation.scorer_infos import infos_of, scorer_stages
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import Language, language_of
from steelyard.runner import judge_name
from steelyard.scorers.judges.correctness import Correctness
from steelyard.scorers.judges.faithfulness import Faithfulness
from steelyard.scorers.judges.judge import Judge, takes_model
from steelyard.scorers.judges.relevance import AnswerRelevancy
from steelyard.scorers.judges.suite_judges import SuiteJudges
from steelyard.scorers.lexical import RougeL, TokenF1
from steelyard.scorers.retrieval import Retrieval
from steelyard.suites.rag.rows import count_documents, load_rag
from steelyard.suites.rag.source_texts import with_texts
from steelyard.targets.baseline import Baseline
from steelyard.targets.library import Paths, paths_of
from steelyard.targets.retrieval import QueryEngine
from steelyard.types import Scorer, Target

_LEADING: Final = ("correctness", "token_f1")


@takes_model
@dataclass(frozen=True, slots=True)
class RagSuite(JudgedSuiteKeys):
    """Questions about documents, with the expected answers and the passages that hold them.

    Args:
        samples: the files with the question, and where there are any the reference answer, its source (the passage's
            text, its document and offsets, or the ids of passages), group, cluster and id.
        targets: the systems to evaluate, by name; each produces one run.
        judge: the model that judges, and how; of every scorer that has none of its own.
        documents: files and folders that the sources' ranges refer to: a source with a range and no text gets the text
            at that range, so that passages of any system can be compared with it. The documents of `retrieval` and
            `baseline` targets need not be named here.
        scorers: what is scored. By default, with a judge, correctness, faithfulness and answer relevancy; in any case
            token F1 and ROUGE-L against the reference, and the retrieval metrics where questions have sources.
        primary: the score that headlines show; by default correctness, else token F1, else the first score of the
            answer.
        gate: rules on the scores that decide the exit code, `{correct: ">= 0.8"}`; `no_regression` compares runs with a
            `baseline`.
    """

    samples: SampleFiles
    targets: Mapping[str, Target]
    judge: Judge = Judge()
    documents: Path | tuple[Path, ...] | None = None
    scorers: tuple[Scorer, ...] = ()
    primary: str = ""

    def build(self) -> Suite:
        """Read and check the whole dataset; no model is called.

        Raises:
            ConfigError: a file, sheet or column that does not exist.
            DataError: rows with defects, named with file, sheet and cell.
        """
        if not self.targets:
            raise ConfigError("there is no target: name targets")
        data = with_texts(load_rag(self.samples), self._documents)
        # One language for all records: prompts in two would measure the judge differently within one run.
        language = language_of(*(transcript_of(sample.input) for sample in data.samples))
        judges = self.judges_with(self.judge).in_language(language)
        scorers = judges.given_to(self.scorers or self._default_scorers(data, judges))
        # Scores of a judge with a name have other names, and of two such judges there is no one pair to cross.
        judged = {type(scorer) for scorer in scorers if not judge_name(scorer)}
        return Suite(
            name=self.name or self.samples.title,
            kind="rag",
            columns=data.columns,
            samples=data.samples,
            targets={name: _in_language(target, language) for name, target in self.targets.items()},
            scorers=scorers,
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary=self.primary or _answer_score(scorers),
            source=self.samples,
            notes=data.notes,
            jury=judges.jury,
            crossed=(("correct", "faithfulness"),) if {Correctness, Faithfulness} <= judged else (),
            breakdowns=(
                *(("document",) if len(count_documents(data.samples).keys() - {""}) > 1 else ()),
                *origin_keys(key for sample in data.samples for key in sample.metadata),
            ),
        )

    @property
    def _documents(self) -> Paths:
        """The documents of the suite, then those that its own targets search."""
        locations = [self.documents]
        for target in self.targets.values():
            locations += [target.documents] if isinstance(target, QueryEngine) else []
            locations += [target.knowledge] if isinstance(target, Baseline) else []
        return tuple(dict.fromkeys(path for location in locations for path in paths_of(location)))

    def _default_scorers(self, data: RowDataset, suite_judges: SuiteJudges) -> Sequence[Scorer]:
        judges = (Correctness(), Faithfulness(), AnswerRelevancy()) if suite_judges.can_ask else ()
        sources = any("sources" in sample.metadata for sample in data.samples)
        return (*judges, TokenF1(), RougeL(), *((Retrieval(),) if sources else ()))


def _in_language(target: Target, language: Language) -> Target:
    if isinstance(target, QueryEngine) and target.language == "auto":
        return replace(target, language=language)
    return target


def _answer_score(scorers: Sequence[Scorer]) -> str:
    """The headline score of the answer itself; "" where all scores are about retrieval.

    >>> _answer_score([Retrieval(), RougeL(), TokenF1()])
    'token_f1'
    """
    rated = {info.name: rated_thing(info, info.name) for info in infos_of(scorer_stages(scorers))}
    about_answers = [name for name in rated if name not in RETRIEVAL_SCORES and not rated[name].startswith("context_")]
    # Of several judges the first leads: `correctness_small` rates correctness.
    leading = (name for thing in _LEADING for name in about_answers if rated[name] == thing)
    return next(iter((*leading, *about_answers)), "")
