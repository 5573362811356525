"""G-Eval: a judge reads criteria and steps and fills in a form; the score is the expected value of its rating.

Source: Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023: task and criteria,
evaluation steps that the model wrote for itself (section 2, "auto chain-of-thoughts"), and a form with the metric's
name, filled in with the score alone ("Evaluation Form (scores ONLY)" in the prompts of github.com/nlpyang/geval). The
parts come in that order, in words of our own: what is rated comes between the steps and the form.

That form is why the packaged prompt, alone among those of the judges, asks for no reasons before the verdict and shows
no example: the score is weighted by the probabilities of its token, which reasons before it would settle in advance.
With `reasoning` the judge nevertheless writes reasons first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final

from steelyard.constraints import Filled, ScoreName, Share, TextList, Within
from steelyard.errors import expect_number
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.fenced_prompt import FencedPrompt
from steelyard.prompts.language import Language
from steelyard.prompts.template import OwnWords, own_words
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Verdict
from steelyard.replies.listing import read_list
from steelyard.scorers.judges.declared import AskingScorer, PromptForm, no_answer, unparsed_verdict
from steelyard.scorers.judges.judge import takes_model
from steelyard.scorers.judges.rating import MOST_VALUES, Form, Rated, Samples, Weighting, rate, rated_score
from steelyard.session.replies import refused_before
from steelyard.types import Asks, Output, Reply, Sample, Score, ScoreInfo, StageInfo

_MOST_STEPS: Final = 20
_STEPS_TOKENS: Final = 1024
_STEPS_NAMES: Final = ("task", "criteria", "metric")
_NAMES: Final = (*_STEPS_NAMES, "low", "high", "steps")


@takes_model
@dataclass(frozen=True, slots=True)
class GEval(AskingScorer):
    """How well an answer meets criteria of your own, on a scale of whole numbers.

    The judge sees the task, the criteria, the evaluation steps, the request and the answer, and fills in a form. Its
    score says in `detail` where it comes from: `how`, the `distribution` over the scale, and the `mass` of probability
    that the scale's values covered. Replies are short (12 tokens without reasoning); a model that thinks before it
    answers needs `parameters: {max_tokens: null}`.

    Args:
        name: of the metric, on the form and of the score: `coherence`.
        criteria: what is judged, and what makes a high score and a low one.
        task: what the application had to do; may be left out.
        steps: of the evaluation, in order. Empty: the judge writes them once, from task and criteria.
        low: the lowest score, a whole number.
        high: the highest.
        weighting: `logprobs` is the mean over the scale, weighted by the probability of each value's token; `samples`
            the mean of several replies at temperature 1; `single` the rating as it was read. `auto` is `logprobs`
            where the endpoint gives them, else `single`.
        samples: how many replies `samples` asks for.
        min_probability_mass: the share of the probability, in [0, 1], that the scale's values must cover; below it the
            rating is taken as it was read, which the score says.
        reasoning: whether the judge gives its reasons, before the score. Where probabilities are asked for they come,
            and are stored, for every token of the reasons as well: about 30 kB a reply instead of 2.
        threshold: the lowest score that passes; null: nothing passes or fails.
        template: a prompt of your own; may use `{{question}}` and `{{answer}}` (both fenced), `{{task}}`,
            `{{criteria}}`, `{{steps}}`, `{{metric}}`, `{{low}}`, `{{high}}` and `{{mark}}`.
        steps_template: a prompt of your own for the steps; may use `{{task}}`, `{{criteria}}` and `{{metric}}`.
    """

    short_key: ClassVar[str] = "criteria"

    asks: ClassVar[Mapping[str, PromptForm]] = {
        "g_eval": PromptForm(("question", "answer"), _NAMES),
        "steps": PromptForm((), _STEPS_NAMES, template="steps_template", system=False),
    }

    name: ScoreName = "g_eval"
    criteria: Annotated[
        str, Filled("describe what is judged, and what makes a high score and a low one"), own_words
    ] = ""
    task: OwnWords = ""
    steps: Annotated[tuple[str, ...], TextList(), own_words] = ()
    low: Annotated[int, Within(-MOST_VALUES, MOST_VALUES - 1)] = 1
    high: int = 5
    weighting: Weighting = "auto"
    samples: Samples = 20
    min_probability_mass: Share = 0.5
    reasoning: bool = False
    threshold: float | None = None
    template: Path | str = ""
    steps_template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A rating under the metric's name."""
        return (ScoreInfo(self.name, (self.low, self.high), threshold=self.threshold, histogram=True),)

    @property
    def stage_info(self) -> StageInfo:
        """The mock reply of a dry run, which can be read as steps and as a rating."""
        return StageInfo(mock_reply=f"1. Read the answer.\n2. Compare it with the criteria.\n\nScore: {self.high}")

    def check(self) -> None:
        """Check the form and the prompts.

        Raises:
            ConfigError: an option out of its range, a threshold off the scale, or a prompt that cannot be trusted.
        """
        expect_number("high", self.high, self.low + 1, self.low + MOST_VALUES, whole=True)
        self._form.check_judge(self.judge)
        if self.threshold is not None:
            expect_number("threshold", self.threshold, self.low, self.high)
        AskingScorer.check(self)

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        name = "g_eval_reasons" if self.reasoning else "g_eval"
        written = {} if self.steps else {"steps": self.prompt("g_eval_steps", self.asks["steps"])}
        return {"g_eval": self.prompt(name, self.asks["g_eval"]), **written}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        if refused_before(output):
            return no_answer(self.name)
        question, answer = transcript_of(sample.input), answer_of(output)
        language = self.judge.language_for(question, answer)
        steps = self.steps or await self._written_steps(ask, language)
        if isinstance(steps, Verdict):
            return rated_score(self.name, [Rated(steps, "", 0)], candidate=answer)
        messages = self.prompts["g_eval"].messages(
            language, {"question": question, "answer": answer, "steps": numbered(steps), **self._words}
        )
        rated = await rate(self._form, self.judge, ask, self.judge.shown_images(messages, sample))
        detail = {} if self.steps else {"steps": list(steps)}
        return rated_score(self.name, rated, candidate=answer, threshold=self.threshold, detail=detail)

    async def _written_steps(self, ask: Asks, language: Language) -> tuple[str, ...] | Verdict:
        """The steps that the judge writes from task and criteria, or why there are none."""
        messages = self.prompts["steps"].messages(language, {name: self._words[name] for name in _STEPS_NAMES})
        reply = await self.judge.ask_once(ask, messages, max_tokens=_STEPS_TOKENS)
        stopped = reply.finish in {"length", "refusal", "content_filter"}
        return (() if stopped else read_list(reply.text, most=_MOST_STEPS)) or _without_steps(reply)

    @property
    def _form(self) -> Form:
        return Form(
            self.name,
            self.low,
            self.high,
            self.weighting,
            self.samples,
            self.min_probability_mass,
            reasoning=self.reasoning,
        )

    @property
    def _words(self) -> dict[str, str]:
        """The values of the prompt that are the user's own words."""
        return {
            "task": self.task.strip(),
            "criteria": self.criteria.strip(),
            "metric": self.name,
            "low": str(self.low),
            "high": str(self.high),
        }


def numbered(texts: tuple[str, ...]) -> str:
    r"""One line per text, numbered from 1.

    >>> numbered(("Read.", "Compare."))
    '1. Read.\n2. Compare.'
    """
    return "\n".join(f"{no}. {' '.join(text.split())}" for no, text in enumerate(texts, start=1))


def _without_steps(reply: Reply) -> Verdict:
    """Why a reply has no steps: refused, empty, truncated, or without a readable list."""
    verdict = unparsed_verdict(reply)
    explanation = f": {verdict.reason}" if verdict.reason else ""
    return replace(
        verdict, reason=f"the judge's reply to the request for evaluation steps could not be read{explanation}"
    )
