"""A target that runs its own SQL and may correct it: the engine's error, or an empty result, goes back to the model.

What goes back is what a user of the database would see, never the reference or a verdict. Every attempt is a call of
its own in the journal, and stands in the output's metadata.

Source: X. Chen et al., "Teaching Large Language Models to Self-Debug", ICLR 2024 (arXiv 2304.05128), section 3: simple
feedback by execution. Deviation: a result without rows is taken for a doubt as well, which a query may well have.
"""

# Why it is so, and what was rejected: docs/decisions/suites-sql-prompts.md

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from steelyard.constraints import Within
from steelyard.errors import ConfigError
from steelyard.prompts.agent_messages import USAGE, summed_usage, tokens_in
from steelyard.prompts.conversation import is_messages, search_text
from steelyard.prompts.language import LanguageSetting, prompt_language
from steelyard.prompts.template import load_template, names_of, render
from steelyard.replies.answer_text import answer_of
from steelyard.scorers.sql import ATTEMPTS
from steelyard.scorers.sql_replies import SqlReply, sql_reply
from steelyard.scorers.sql_runs import Bench, SqlSettings
from steelyard.sql.changed_data import changes_data, without_count
from steelyard.sql.equality import CellEquality
from steelyard.sql.results import SqlFailure
from steelyard.sql.sandbox import Sandbox
from steelyard.targets.prompt import Prompt
from steelyard.types import Asks, Message, Output, Sample, Target

_MOST: Final = 10
_SAID: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "format": "No SQL statement could be read of the reply: {what}.",
        "failed": "The statement cannot be run: {what}.",
        "empty": "The statement runs, and returns no row.",
        "unchanged": "The statement runs, and changes nothing.",
    },
    "zh": {
        "format": "无法从回复中读出 SQL 语句：{what}。",
        "failed": "该语句无法执行：{what}。",
        "empty": "该语句可以执行，但没有返回任何行。",
        "unchanged": "该语句可以执行，但没有改变任何数据。",
    },
}


@dataclass(frozen=True, slots=True)
class SelfCorrection(SqlSettings):
    """A target that is told what came of its SQL, and may correct it.

    The reply is read and run as by the scorer `sql`. If nothing can be read, the engine fails, or no row is returned,
    the target is asked again with the conversation so far. It ends with the first statement that returns rows, with the
    same statement twice, or after the last attempt, whose reply is the output. `metadata["attempts"]` has each reply
    with what was wrong with it. In the suite `text2sql` the keys that it shares with `scoring` are those of `scoring`.

    Args:
        target: who is asked: a prompt, an endpoint, a function, an agent. What is no prompt gets the conversation as
            messages.
        attempts: how often it is asked at most.
        empty: whether a result without rows goes back as well.
        language: of what is said of an attempt; `auto` is that of the question.
        template: what is said, with `{{problem}}`; by default packaged, `en/correct_sql`.
        limits: of each statement.
        statements: as of the scorer `sql`: with `any`, a statement that changes data runs on a copy.
    """

    target: Target
    attempts: Annotated[int, Within(2, _MOST)] = 3
    empty: bool = True
    language: LanguageSetting = "auto"
    template: Path | str = ""
    statements: Literal["read", "any"] = "read"

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a target that holds other targets, a template without `{{problem}}` or with another
                placeholder, or an option of running SQL.
        """
        if hasattr(self.target, "target") or hasattr(self.target, "sides"):
            raise ConfigError(f"target: a {type(self.target).__name__} cannot correct itself; name its own target")
        if self.template and names_of(load_template(self.template)) != {"problem"}:
            raise ConfigError("template: says what is wrong with {{problem}}, and has no other placeholder")
        SqlSettings.check(self)

    def manifest(self) -> dict[str, Any]:
        """What is said of an attempt, in each language."""
        names = [self.template] if self.template else ["en/correct_sql", "zh/correct_sql"]
        return {"text": [load_template(name) for name in names]}

    @property
    def without_question(self) -> str:
        """Why every sample would be sent the same, as reported by the target."""
        return str(getattr(self.target, "without_question", ""))

    @property
    def filled_names(self) -> frozenset[str]:
        """The placeholders in what is sent, by the target."""
        names: frozenset[str] = getattr(self.target, "filled_names", frozenset())
        return names

    def shows(self, key: str) -> bool:
        """Whether the target is shown a key of the samples' metadata."""
        shows = getattr(self.target, "shows", None)
        return bool(callable(shows) and shows(key))

    async def __call__(self, sample: Sample, ask: Asks, call_target: Any, sandbox: Sandbox | None = None) -> Output:
        """Ask, and ask again as long as something is wrong.

        Args:
            sample: what is asked.
            ask: calls models.
            call_target: `(target, sample, ask, attempt) -> Output`; keeps what a target returns that asks by itself.
            sandbox: where the statements are run; None in a dry run, which sends the first attempt alone.
        """
        target, asked = self.target, sample
        shown: Mapping[str, Any] = {}
        if isinstance(target, Prompt):
            # Its words are filled in once; every further attempt goes on from the messages that were sent.
            if target.view is not None:
                asked, shown = await target.view(sample, ask)
            asked = replace(asked, input=target.messages(asked))
            target = replace(target, template="{{question}}", system="", examples=None, view=None, columns={})
        outputs: list[Output] = []
        made: list[dict[str, Any]] = []
        statements: list[str] = []
        while True:
            output = await call_target(target, asked, ask, len(outputs))
            reply = sql_reply(output, self.form, self.key)
            problem = "" if sandbox is None else await self._problem(sample, reply, sandbox)
            outputs.append(output)
            finish = output.metadata.get("finish")
            made.append({"reply": output.value, "problem": problem, **({"finish": finish} if finish else {})})
            insists = bool(reply.sql) and reply.sql in statements
            if not problem or insists or len(made) == self.attempts:
                return _joined(outputs, made, shown)
            statements.append(reply.sql)
            asked = replace(asked, input=self._conversation(asked, output, problem))

    async def _problem(self, sample: Sample, reply: SqlReply, sandbox: Sandbox) -> str:
        """What is wrong with a reply, in words for the model; "" where nothing is, or the dataset is at fault."""
        said = _SAID[prompt_language(self.language, search_text(sample.input))]
        if reply.refused:
            return ""
        if reply.problem:
            return said["format"].format(what=reply.problem)
        place = self.database(sample)
        if place.problem and not reply.reading.create:
            return ""
        changes = self.statements == "any" and changes_data(reply.reading.query)
        place = replace(place, database=replace(place.database, changes=changes))
        execution = await Bench.of(sandbox, self.limits, CellEquality()).predicted(place, reply.reading)
        if execution.table is None:
            failure = execution.failure or SqlFailure("error", "no result")
            return "" if failure.part == "script" else said["failed"].format(what=failure.message)
        table = without_count(execution.table) if changes else execution.table
        return "" if table.rows or not self.empty else said["unchanged" if changes else "empty"]

    def _conversation(self, asked: Sample, output: Output, problem: str) -> list[Message]:
        """The messages so far, the reply, and what is wrong with it."""
        before: list[Message] = (
            list(asked.input) if is_messages(asked.input) else [{"role": "user", "content": search_text(asked.input)}]
        )
        language = prompt_language(self.language, search_text(before))
        template = load_template(self.template or f"{language}/correct_sql")
        told = render(template, {"problem": problem})
        return [*before, {"role": "assistant", "content": answer_of(output)}, {"role": "user", "content": told}]


def _joined(outputs: Sequence[Output], made: Sequence[Mapping[str, Any]], shown: Mapping[str, Any]) -> Output:
    """The last output, with all attempts and the tokens of all."""
    metadata: dict[str, Any] = {**shown, **outputs[-1].metadata, ATTEMPTS: list(made)}
    usages = [output.metadata.get(USAGE) for output in outputs]
    if all(usage is not None for usage in usages) and (usage := summed_usage(map(tokens_in, usages))):
        metadata[USAGE] = usage
    return replace(outputs[-1], metadata=metadata)
