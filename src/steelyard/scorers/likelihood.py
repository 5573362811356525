"""Accuracy by likelihood: is the option that the model finds likeliest the right one?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from steelyard.text.prompt_files import option_label
from steelyard.types import Output, Sample, Score

_SCORES: Final = ("acc", "acc_norm", "acc_bytes")
_EMPTY: Final = "one of the options has no text, so nothing can be divided by its length"


@dataclass(frozen=True, slots=True)
class LikelihoodAccuracy:
    """Three scores of what a `likelihood` target found, each 1 where the reference's option is the likeliest.

    `acc` takes the highest log probability. `acc_norm` divides it by the characters of the option's text first, and
    `acc_bytes` by its bytes in UTF-8, for long options have more to lose. By letters all three are the same, as every
    letter has one. The first of equal options is taken.

    Source: lm-evaluation-harness 0.4.13, `process_results` of multiple-choice tasks in `lm_eval/api/task.py`: there
    `acc_norm` is over `len(text)`, which is characters, and `acc_bytes` over bytes. L. Gao, "Multiple Choice
    Normalization in LM Evaluation" (EleutherAI, 2021), says bytes of `acc_norm`; published figures come from the code.
    Options are measured without what stands between them and the prompt, in both. Deviation: a question with several
    right options is not applicable; there, any of them counts.

    >>> found = {"by": "texts", "logprobs": {"A": -4.0, "B": -6.0}}
    >>> sample = Sample("1", "Where?", "B", choices=("Rome", "Saint-Denis"))
    >>> [(one.name, one.value) for one in LikelihoodAccuracy()(sample, Output("A", (), {"likelihood": found}))]
    [('acc', 0.0), ('acc_norm', 1.0), ('acc_bytes', 1.0)]
    """

    inline: ClassVar[bool] = True
    score_names: ClassVar[tuple[str, ...]] = _SCORES
    primary: ClassVar[str] = "acc"
    over: ClassVar[str] = "all"

    def __call__(self, sample: Sample, output: Output) -> list[Score]:
        """Compare the likeliest option with `sample.reference`, one letter."""
        found = output.metadata.get("likelihood")
        if not isinstance(found, Mapping):
            return _all("not_applicable", "the output holds no likelihoods; they come from a likelihood target")
        letters = [option_label(no) for no in range(len(sample.choices))]
        if sample.reference not in letters:
            return _all("not_applicable", f"the reference {str(sample.reference)[:40]!r} is not one option's letter")
        logprobs = found.get("logprobs")
        if not isinstance(logprobs, Mapping) or not logprobs:
            return _all("unparsed", str(found.get("problem", "no option has a likelihood")), {"kind": "no letter"})
        return [_score(name, sample, found, logprobs) for name in _SCORES]


def _all(outcome: Any, reason: str, detail: Mapping[str, Any] | None = None) -> list[Score]:
    return [Score(name, None, outcome=outcome, reason=reason, detail=detail or {}) for name in _SCORES]


def _score(name: str, sample: Sample, found: Mapping[str, Any], logprobs: Mapping[str, float]) -> Score:
    by_text = found.get("by") == "texts" and name != "acc"
    lengths = dict.fromkeys(logprobs, 1)
    if by_text:
        lengths = {letter: _length(name, sample.choices[ord(letter) - ord("A")]) for letter in logprobs}
    if not all(lengths.values()):
        return Score(name, None, outcome="not_applicable", reason=_EMPTY)
    values = {letter: value / lengths[letter] for letter, value in logprobs.items()}
    highest = max(values.values())
    best = [letter for letter, value in values.items() if value == highest]
    solved = best[0] == sample.reference
    reason = f"{best[0]} is the likeliest" + ("" if solved else f", {sample.reference} is right")
    if len(best) > 1:
        reason += f"; equal: {', '.join(best)}"
    if name == "acc" and found.get("missing"):
        reason += f"; {', '.join(found['missing'])} not listed, with at most {found.get('rest', 0):.2g} together"
    kept = ("by", "probabilities", "missing", "rest", "shared") if name == "acc" else ()
    detail = {key: found[key] for key in kept if key in found}
    return Score(
        name,
        float(solved),
        passed=solved,
        reason=reason,
        detail={"letters": best[0], "wanted": sample.reference, **detail},
    )


def _length(name: str, text: str) -> int:
    return len(text) if name == "acc_norm" else len(text.encode("utf-8", "surrogatepass"))
