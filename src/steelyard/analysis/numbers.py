"""Texts for numbers and for the names of scores: whatever a person reads is formatted here, the same everywhere.

A share is written in percent with one decimal and a difference of shares in points; any other score has two decimals,
and below 0.1 as many as two digits take: a call may cost 0.003.
What is missing is a dash, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from steelyard.analysis.intervals import Mean
from steelyard.escaping import visible
from steelyard.stats.intervals import Interval
from steelyard.types import ScoreInfo

MISSING: Final = "–"
"""Shown where there is no number; never 0."""
_LEAST_P: Final = 0.001
_SMALL: Final = 0.095
"""Below this two decimals have one digit or none; 0.095 is 0.10 with two of them."""
_LEAST_SMALL: Final = 1e-7
"""Anything smaller is an error of rounding."""
_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "result": "Result correct",
        "rouge_l": "ROUGE-L",
        "ex_bird": "Execution accuracy (BIRD)",
        "ex_qatch": "Execution accuracy (QATCH)",
        "ex_spider": "Execution accuracy (Spider)",
        "ex_spider_keep_distinct": "Execution accuracy (Spider, keep distinct)",
    }
)
"""Scores whose usual spelling is not their name with spaces in place of underscores."""
_UNITS: Final[Mapping[str, str]] = MappingProxyType({"latency": "s", "cost": "currency of prices"})
"""Scores that are no share and no rating -> the unit of their values, which headings show once."""
_ACRONYMS: Final = ("AI", "API", "BLEU", "chrF", "F1", "HTML", "ID", "JSON", "LLM", "MRR", "nDCG", "PII", "SQL", "URL")
_SPELLING: Final = {word.lower(): word for word in _ACRONYMS}
"""Words of names -> their usual spelling."""


def figure_text(value: float, *, share: bool, sign: bool = False) -> str:
    """The digits of a value, without a unit: a share in percent, anything else as it is; never "-0.0".

    >>> figure_text(0.6333, share=True), figure_text(-3.456, share=False), figure_text(0.5, share=False, sign=True)
    ('63.3', '-3.46', '+0.50')
    >>> figure_text(0.00314, share=False), figure_text(0.05, share=False), figure_text(1e-9, share=False)
    ('0.0031', '0.05', '0.00')
    """
    if share:
        text = f"{100 * value:+.1f}"
    elif _LEAST_SMALL <= abs(value) < _SMALL:
        text = format(Decimal(f"{value:.2g}"), "+f")
    else:
        text = f"{value:+.2f}"
    return text if float(text) and (sign or text[0] == "-") else text[1:]


def value_text(value: float | None, *, share: bool) -> str:
    """A mean: percent with one decimal where it is a share, else two decimals.

    >>> value_text(0.6333, share=True), value_text(3.456, share=False), value_text(None, share=True)
    ('63.3 %', '3.46', '–')
    """
    if value is None:
        return MISSING
    return f"{figure_text(value, share=share)}{' %' if share else ''}"


def signed_text(value: float | None, *, share: bool) -> str:
    """A difference with its sign: points with one decimal, or two decimals.

    >>> signed_text(0.092, share=True), signed_text(-0.0001, share=True), signed_text(-0.5, share=False)
    ('+9.2', '0.0', '-0.50')
    """
    return MISSING if value is None else figure_text(value, share=share, sign=True)


def interval_text(interval: Interval | tuple[float, float] | None, *, share: bool, sign: bool = False) -> str:
    """Both limits of an interval, in the unit of `value_text` but without its sign; "" where there is none.

    >>> interval_text((0.5441, 0.7142), share=True), interval_text((-0.02, 0.1), share=True, sign=True)
    ('54.4 to 71.4', '-2.0 to +10.0')
    """
    return " to ".join(figure_text(end, share=share, sign=sign) for end in interval or ())


def mean_text(mean: Mean, *, share: bool) -> str:
    """A mean with its interval in brackets: `63.3 % (54.4 to 71.4)`."""
    interval = interval_text(mean.interval, share=share)
    return value_text(mean.value, share=share) + (f" ({interval})" if interval else "")


def percent_text(share: float | None, digits: int = 1) -> str:
    """A share in percent, with the decimals that it is worth.

    >>> percent_text(0.8318208, 2), percent_text(0.045, 0), percent_text(None)
    ('83.18 %', '4 %', '–')
    """
    return MISSING if share is None else f"{100 * share:.{digits}f} %"


def done_text(done: int, planned: int) -> str:
    """The part that is done, in whole percent; 100 only where nothing is left.

    >>> done_text(1999, 2000), done_text(0, 0)
    ('99 %', '0 %')
    """
    return f"{100 * done // max(1, planned)} %"


def percent_limits(interval: Interval | tuple[float, float] | None) -> str:
    """Both limits of a rate's interval in percent, with two decimals.

    >>> percent_limits((0.8318208, 1.0))
    '83.18 % to 100.00 %'
    """
    return MISSING if interval is None else " to ".join(percent_text(end, 2) for end in interval)


def points_text(width: float, *, share: bool = True) -> str:
    """A width on the scale of a score, as short as it may be.

    >>> points_text(0.05), points_text(0.5, share=False)
    ('5 points', '0.5')
    """
    return f"{100 * width:g} points" if share else f"{width:g}"


def record_value_text(value: float, info: ScoreInfo | None) -> str:
    """A score of one record: a share in percent, as its mean is; anything else with at most four digits.

    A score with a threshold may be 0 or 1 in every record, which means right or wrong and is not a share.

    >>> from steelyard.types import ScoreInfo
    >>> record_value_text(1 / 6, ScoreInfo("recall", (0, 1))), record_value_text(1.0, ScoreInfo("recall", (0, 1)))
    ('16.7 %', '100.0 %')
    >>> record_value_text(1.0, ScoreInfo("right", (0, 1), threshold=0.5))
    '1'
    >>> record_value_text(4.25, ScoreInfo("rating", (1, 5))), record_value_text(0.0000204, None)
    ('4.25', '0.0000204')
    """
    if info is None or info.range != (0.0, 1.0) or not 0 <= value <= 1:
        return format(Decimal(f"{value:.4g}"), "f") if math.isfinite(value) else f"{value}"
    is_verdict = info.threshold is not None and value in {0.0, 1.0}
    return f"{value:g}" if is_verdict else value_text(value, share=True)


def verdict_words(info: ScoreInfo | None) -> tuple[str, str]:
    """What passing and failing a score are called on every page: its scorer's own words, or those of its kind.

    >>> from steelyard.types import ScoreInfo
    >>> verdict_words(ScoreInfo("hit_rate", (0, 1), labels=("hit", "miss"))), verdict_words(None)
    (('hit', 'miss'), ('pass', 'fail'))
    """
    if info is None or info.labels is None:
        return ("correct", "wrong") if info is not None and info.exam else ("pass", "fail")
    high, low = info.labels
    return (low, high) if info.lower_is_better else (high, low)


def rating_limits(interval: Interval | None) -> str:
    """Both limits of a rating on the Elo scale, whole numbers."""
    return MISSING if interval is None else f"{interval.low:.0f} to {interval.high:.0f}"


def rank_text(best: int, worst: int) -> str:
    """A rank, or its range where it is not certain.

    >>> rank_text(1, 1), rank_text(2, 4)
    ('1', '2 to 4')
    """
    return f"{best}" if best == worst else f"{best} to {worst}"


def p_text(p: float | None) -> str:
    """A p-value as a number with two significant digits, never in percent; "< 0.001" below that. JSON has all digits.

    >>> p_text(0.0312), p_text(3.1e-09), p_text(1.0), p_text(0.0), p_text(None)
    ('0.031', '< 0.001', '1', '< 0.001', '–')
    """
    if p is None:
        return MISSING
    return f"{p:.2g}" if p >= _LEAST_P else f"< {_LEAST_P}"


def p_equals(p: float | None) -> str:
    """A p-value with its relation sign, for sentences.

    >>> p_equals(0.0312), p_equals(0.0)
    ('p = 0.031', 'p < 0.001')
    """
    text = p_text(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def level_text(level: float) -> str:
    """A confidence level in percent.

    >>> level_text(0.95), level_text(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:g} %"


def count_text(n: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1.

    >>> count_text(1, "pair"), count_text(1200, "verdict"), count_text(2, "reply")
    ('1 pair', '1,200 verdicts', '2 replies')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def kind_text(kind: str) -> str:
    """Why a reply was not parsed, in words.

    >>> kind_text("out_of_scale"), kind_text("none"), kind_text("several")
    ('out of scale', 'no verdict', 'several answers')
    """
    return {"none": "no verdict", "several": "several answers", "unparsed": "unreadable"}.get(
        kind, kind.replace("_", " ")
    )


def about_text(n: int) -> str:
    """A number that is known roughly, in hundreds from 1,000 on.

    >>> about_text(194), about_text(3707)
    ('about 194', 'about 3,700')
    """
    return f"about {round(n, -2) if n >= 1000 else n:,}"


def money_text(amount: float, currency: str) -> str:
    """An amount for display: with two decimals from 0.1 on, four from 0.001 on, else with two significant digits.

    >>> money_text(1234.5, "USD"), money_text(0.008, "USD"), money_text(0.0000921, "CNY"), money_text(0, "")
    ('1,234.50 USD', '0.0080 USD', '0.000092 CNY', '0')
    """
    small = f"{amount:.4f}" if amount >= 0.001 else format(Decimal(f"{amount:.2g}"), "f")
    return f"{f'{amount:,.2f}' if amount >= 0.1 else small} {currency}".rstrip()


def cost_text(money: Mapping[str, float]) -> str:
    """A cost by currency; "" where it is not known.

    >>> cost_text({"USD": 1.5, "EUR": 0.25})
    '1.50 USD + 0.25 EUR'
    """
    return " + ".join(money_text(amount, currency) for currency, amount in money.items())


def seconds_text(seconds: float) -> str:
    """A short duration with the digits that count.

    >>> seconds_text(0.0), seconds_text(0.0834), seconds_text(1.26), seconds_text(75)
    ('<1 ms', '83 ms', '1.3 s', '75 s')
    """
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 0.0095:
        return f"{1000 * seconds:.1f} ms"
    if seconds < 0.95:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def duration_text(seconds: float) -> str:
    """How long something takes, rounded.

    >>> duration_text(42), duration_text(330), duration_text(9000)
    ('42 s', '6 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def rate_text(per_second: float) -> str:
    """Records per second, or per minute where that is easier to read.

    >>> rate_text(1234.5), rate_text(3.25), rate_text(0.02)
    ('1,234/s', '3.2/s', '1.2/min')
    """
    if per_second >= 100:
        return f"{per_second:,.0f}/s"
    return f"{per_second:.1f}/s" if per_second >= 0.5 else f"{60 * per_second:.1f}/min"


def score_title(name: str) -> str:
    """A score's name as a heading.

    >>> score_title("solve_rate"), score_title("ndcg"), score_title("no_ai_talk"), score_title("latency")
    ('Solve rate', 'nDCG', 'No AI talk', 'Latency (s)')
    """
    if not name:
        return "Score"
    return f"{_spelled(name)} ({_UNITS[name]})" if name in _UNITS else _spelled(name)


def _spelled(name: str) -> str:
    words = name.replace("_", " ").capitalize().split(" ")
    return _NAMES.get(name) or visible(" ".join(_SPELLING.get(word.lower(), word) for word in words), keep="")


def score_phrase(name: str) -> str:
    """A score's name within a sentence.

    >>> score_phrase("solve_rate"), score_phrase("ndcg"), score_phrase("ex_bird"), score_phrase("token_f1")
    ('solve rate', 'nDCG', 'execution accuracy (BIRD)', 'token F1')
    """
    title = _spelled(name) if name else score_title(name)
    is_acronym = any(letter.isupper() for letter in title.partition(" ")[0][1:])
    return title if is_acronym else title[0].lower() + title[1:]
