"""Scores whether an output gives the reference's numbers, however either of them writes a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import ClassVar, Final, Literal

from steelyard.errors import ConfigError
from steelyard.scorers.lexical_numerals import Number, numbers_in
from steelyard.scorers.lexical_texts import check_share, reached, references_of, text_of, unscored, which
from steelyard.types import Output, Sample, Score

_WORD: Final = re.compile(r"\s*([a-zµ°][a-zµ°²³0-9]*(?:/[a-z]+[²³]?)?|[\u4e00-\u9fff]+)")
_LONG: Final = 20
_EXACT: Final = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


@dataclass(frozen=True, slots=True)
class NumberMatch:
    """Whether the numbers of the reference stand in the output.

    Numbers are compared by value: 1,234.5 is 1234.50, 12 % is 0.12 and 三万五千 is 35,000. Without units, 12 % is also
    12. Of several references the best counts. `final` compares the last number of both, as GSM8K is scored (K. Cobbe
    et al., "Training verifiers to solve math word problems", 2021).

    Args:
        mode: `all` numbers of the reference, `any` of them, the `share` that is found, or the `final` ones.
        relative_tolerance: how far a number may be off, as a share of the reference's number.
        decimal_comma: read 1.234,5 and 1 234,5 as 1234.5.
        units: also ask for the word or Chinese run that follows the reference's number, and its sign of a currency.
        threshold: with `share`, the share from which a sample passes; None: none is set.

    >>> NumberMatch(mode="final")(Sample("1", "6 * 3?", "#### 18"), Output("6 * 3 is **18**.")).value
    1.0
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "number_match"
    over: ClassVar[str] = "all"

    mode: Literal["all", "any", "share", "final"] = "all"
    relative_tolerance: float = 0.0
    decimal_comma: bool = False
    units: bool = False
    threshold: float | None = None

    @property
    def words(self) -> dict[str, tuple[str, str]]:
        """What 1 and 0 are called; a share is called by its number."""
        return {} if self.mode == "share" else {"number_match": ("right", "wrong")}

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: an unknown mode, a tolerance out of [0, 1), or a threshold that is no share or has none.
        """
        if self.mode not in {"all", "any", "share", "final"}:
            raise ConfigError(f"mode: expected all, any, share or final, but got {self.mode!r}")
        if not 0 <= self.relative_tolerance < 1:
            raise ConfigError(f"relative_tolerance: expected 0 to below 1, but got {self.relative_tolerance}")
        check_share("threshold", self.threshold)
        if self.threshold is not None and self.mode != "share":
            raise ConfigError(f"threshold: mode {self.mode!r} is met or not; a threshold goes with mode 'share'")

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look for the references' numbers in one output."""
        texts, problem = references_of(sample)
        wanted = [found for text in texts if (found := self._read(text))]
        problem = problem or ("" if wanted else "the reference holds no number")
        if (score := unscored(self.score_name, problem, output)) is not None:
            return score
        got = self._read(text_of(output))
        met = [self._met(numbers, got) for numbers in wanted]
        values = [self._value(one) for one in met]
        place = values.index(max(values))
        reason = self._reason(wanted[place], met[place], got) + which(place, len(wanted))
        passed = reached(values[place], self.threshold) if self.mode == "share" else values[place] == 1
        detail = {"numbers": [_shown(one.value) for one in got[-10:]], "reference": place}
        return Score(self.score_name, values[place], passed=passed, reason=reason, detail=detail)

    def _read(self, text: str) -> list[Number]:
        return numbers_in(text, decimal_comma=self.decimal_comma)

    def _met(self, wanted: Sequence[Number], got: Sequence[Number]) -> list[bool]:
        """For each number that is asked for, whether it is there."""
        if self.mode == "final":
            wanted, got = wanted[-1:], got[-1:]
        return [any(self._same(one, other) for other in got) for one in wanted]

    def _value(self, met: Sequence[bool]) -> float:
        if self.mode == "share":
            return sum(met) / len(met)
        return float(any(met) if self.mode == "any" else all(met))

    def _same(self, wanted: Number, got: Number) -> bool:
        if self._near(wanted.value, got.value):
            return not self.units or _same_unit(wanted, got)
        return not self.units and self._near(wanted.face, got.face)

    def _near(self, wanted: Decimal, got: Decimal) -> bool:
        if wanted == got:
            return True
        if not self.relative_tolerance:
            return False
        allowed = _EXACT.multiply(abs(wanted), Decimal(str(self.relative_tolerance)))
        return _EXACT.subtract(wanted, got).copy_abs() <= allowed

    def _reason(self, wanted: Sequence[Number], met: Sequence[bool], got: Sequence[Number]) -> str:
        if not got:
            return "the output holds no number"
        if self.mode == "final":
            last, asked = _shown(got[-1].value), _shown(wanted[-1].value)
            return f"the last number is {last}" + ("" if all(met) else f", {asked} is right")
        missing = [_shown(one.value) for one, there in zip(wanted, met, strict=True) if not there]
        return f"missing: {', '.join(missing[:5])}" if missing else f"{len(met)} found"


def _same_unit(wanted: Number, got: Number) -> bool:
    """Whether the currency is the same and what follows begins with the word that follows the wanted number."""
    word = _WORD.match(wanted.after)
    if wanted.before != got.before or word is None:
        return wanted.before == got.before
    found = _WORD.match(got.after)
    if found is None:
        return False
    chinese = word[1][0] >= "一"
    return found[1].startswith(word[1]) if chinese else found[1] == word[1]


def _shown(number: Decimal) -> str:
    """A number for a reason, without the zeros at its end and never longer than it needs."""
    if abs(number.adjusted()) > _LONG:
        return f"{number:.3E}"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
