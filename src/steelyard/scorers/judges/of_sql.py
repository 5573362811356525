"""Gives judges that know nothing of SQL the statement that was read of a reply, in place of the reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.building.wrapped import WrapsOne, infos_of_part
from steelyard.replies.sql import Wanted
from steelyard.scorers.judges.judge import judge_of
from steelyard.scorers.judges.relevance import Relevance
from steelyard.scorers.sql import SqlResult
from steelyard.scorers.sql_replies import mock_sql, sql_reply
from steelyard.scorers.sql_runs import SqlSettings, settings_lacking
from steelyard.scorers.tables import TableMetrics
from steelyard.types import Asks, Output, Sample, Score, ScoreInfo, Scorer, StageInfo


@dataclass(frozen=True, slots=True)
class OfSql(WrapsOne):
    """Lets a judge score the SQL of a reply, in place of the whole reply; not applicable where there is none.

    The suite `text2sql` puts it around judges that know nothing of SQL.

    Args:
        scorer: asks a judge.
        form: see `read_sql`.
        key: see `read_sql`.
    """

    form: Wanted = "auto"
    key: str = ""

    @property
    def score_infos(self) -> Sequence[ScoreInfo]:
        """Those of the scorer."""
        return infos_of_part(self.scorer)

    @property
    def stage_info(self) -> StageInfo:
        """That of the scorer."""
        info: StageInfo = getattr(self.scorer, "stage_info", StageInfo())
        return replace(info, mock_output=mock_sql(self.form, self.key))

    async def __call__(self, sample: Sample, output: Output, ask: Asks, call_scorer: Any) -> list[Score]:
        """Score the SQL of one reply; `call_scorer` is as for `PerTurn`."""
        reply = sql_reply(output, self.form, self.key)
        if reply.problem and not reply.refused:
            reason = f"no SQL could be read: {reply.problem}"
            return [Score(info.name, None, outcome="not_applicable", reason=reason) for info in self.score_infos]
        shown = output if reply.refused else replace(output, value=reply.sql)
        scores: list[Score] = await call_scorer(self.scorer, self.score_infos[0].name, sample, shown, ask)
        return scores


def reading_as(scorer: Scorer, scoring: SqlResult) -> Scorer:
    """The scorer of a suite of SQL, made to use the SQL that `format` reads and to run it as `result` does.

    What it has of its own stays. Scorers that ask no judge and read no SQL, such as `regex`, see the whole reply.
    """
    if isinstance(scorer, TableMetrics):
        return replace(scorer, task="SP", **settings_lacking(scorer, scoring))
    if isinstance(scorer, SqlResult):
        return scorer
    if isinstance(scorer, Relevance | SqlSettings):
        return replace(scorer, **settings_lacking(scorer, scoring))
    asks_judge = judge_of(scorer) is not None and not isinstance(scorer, OfSql)
    return OfSql(scorer, scoring.form, scoring.key) if asks_judge else scorer
