"""How labelled replies are read: right, wrong and missed per set, CPU time, and what each rule and phrase is worth.

python -m benchmarks.replies FILE.jsonl [FILE.jsonl ...] [--ablate rules|phrases|words]

A row of a choice has `reply`, `options` (a list, or texts by letter) and what a person read: `label`, a list of the
letters that are acceptable with null for none, or `letters` with `kind` (any kind but `letter` means that none is
given) or with `status` (then `letters` are all that are given), and perhaps `several` and `finish`. A row of a rating
has `kind` "rating", `text`, `scale`, `value` (a number; anything else means that none is given) and perhaps `name` and
`finish`. A verdict has `kind` "yes_no" or "preference", `text`, `expected` (`yes`, `no`, `A`, `B` or `tie`, anything
else where none is given), and perhaps `names` and `finish`; a label has `text`, `labels` and `expected`. `set`,
`family` or `kind` names the set of a row. Without files the replies of `choice_replies.jsonl` are read, which we wrote:
families of shapes that were once read wrong; and the time for replies of some shapes is measured.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from steelyard.replies import (
    choice,
    choice_letters,
    choice_numbers,
    evidence,
    grammar,
    judge_reply,
    label,
    only_letter,
    options,
    preference,
    rating,
    rating_forms,
    rating_numbers,
    yes_no,
)
from steelyard.replies.judge_reply import Scale

OWN_REPLIES: Final = Path(__file__).with_name("choice_replies.jsonl")
_LANGUAGES: Final = ("en", "zh", "ko", "pt", "es", "fr", "de", "ja")
_SECTIONS: Final = ("choice", "page", "rating", "judge", "yes_no", "preference", "label")
_CHOICE: Final = (evidence, options, choice_letters, choice_numbers, only_letter, choice)
_RATING: Final = (rating_numbers, rating_forms, rating)
_JUDGES: Final = (judge_reply, yes_no, preference, label)
_VERDICTS: Final = frozenset({"yes", "no", "A", "B", "tie"})
RATING_FORMS: Final = (
    *("json", "double", "boxed", "tag", "enclosed", "labelled", "alone", "leading", "last"),
    *("verb", "noun", "article", "counted", "concluded"),
)
OPTIONS: Final = (
    "granite",
    "limestone",
    "sandstone",
    "slate",
    "marble",
    "basalt",
    "chalk",
    "gneiss",
    "obsidian",
    "shale",
)
SHAPES: Final = {
    "letter alone": ("{letter}", "({letter})", "{letter}. {option}", "**{letter}**"),
    "declaration": (
        "The correct answer is {letter}. {option}.",
        "Based on the question, I would choose option {letter}: {option}.",
        "{letter}) {option}\n\nExplanation: {text}",
    ),
    "reasoning, then answer": (
        "{text} {text}\n\n{text}\n\nTherefore, the answer is ({letter}).",
        "<think>{text} Is it A? {text}</think>\n\nAnswer: {letter}",
        "1. {text}\n2. {text}\n3. {text}\n\nThe final answer is $\\boxed{{\\text{{{letter}}}}}$.",
    ),
    "option without its letter": ("{text} The stone in question must be {option}.",),
    "JSON": ('```json\n{{"reasoning": "{text}", "answer": "{letter}"}}\n```',),
    "Chinese": ("根据题意，该岩石由岩浆冷却而成，因此选项{other}不正确。\n故选{letter}。", "[正确答案]{letter}<eoa>"),
}
_TEXTS: Final = (
    "The rock was laid down in a shallow sea some 150 million years ago and later folded.",
    "Its grains are visible to the naked eye, which is a sign of slow cooling at depth.",
    "A drop of acid on its surface makes it fizz, so carbonate must be a part of it.",
    "If the pressure P is 3 kbar and T = 650 K, then the density is about 2.7 g/cm^3.",
)


class Row(NamedTuple):
    """One labelled reply; `meant` are the acceptable readings, None among them where none is right."""

    name: str
    read: Callable[[], str | float | None]
    meant: frozenset[str | float | None]


class Tally(NamedTuple):
    """Counts of one pass over all rows."""

    right: int
    wrong: int
    missed: int


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a file.

    Raises:
        ValueError: a row says neither what is to be read nor what a person read.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        row = json.loads(line)
        kind = (
            row.get("kind") if row.get("kind") in _READERS else next((kind for key, kind in _KINDS if key in row), "")
        )
        try:
            meant = _READERS[kind].meant(row)
        except KeyError as error:
            wanted = (
                f"a {kind} needs {error}" if kind else "it has neither options, scale nor labels, and no known kind"
            )
            raise ValueError(f"{path}:{number}: {wanted}; see the help for the form of a row") from error
        name = row.get("set") or f"{path.stem}: {row.get('family') or row.get('kind', 'all')}"
        yield Row(name, partial(_READERS[kind].read, row), meant)


def _letters_meant(row: Mapping[str, Any]) -> frozenset[str | None]:
    if "label" in row:
        return frozenset(row["label"])
    given = row["status"] in {"answered", "several"} if "status" in row else row.get("kind", "letter") == "letter"
    return frozenset(["".join(row["letters"])] if "status" in row else row["letters"]) if given else frozenset([None])


def _verdict_meant(row: Mapping[str, Any]) -> frozenset[str | None]:
    return frozenset([row["expected"] if row["expected"] in {*_VERDICTS, *row.get("labels", ())} else None])


def _value_meant(row: Mapping[str, Any]) -> frozenset[float | None]:
    return frozenset([row["value"] if isinstance(row["value"], int | float) else None])


def _letter(row: Mapping[str, Any]) -> str | None:
    given = {key: row[key] for key in ("question", "several", "finish") if key in row}
    reading = choice.read_choice(row["reply"], row["options"], **given)
    is_answer = reading.status == "answered" or "status" in row
    return "".join(reading.letters) or None if is_answer else None


def _verdict(row: Mapping[str, Any]) -> str | None:
    parameters: dict[str, Any] = {key: row[key] for key in ("finish",) if key in row}
    if "labels" in row:
        verdict = label.read_label(row["text"], row["labels"], **parameters)
    elif row["kind"] == "yes_no":
        verdict = yes_no.read_yes_no(row["text"], **parameters)
    else:
        names = tuple(row.get("names", ("A", "B")))
        verdict = preference.read_preference(row["text"], names=names, **parameters)
    return verdict.label if verdict.outcome == "scored" else None


def _rating(row: Mapping[str, Any]) -> float | None:
    scale, name, finish = Scale(*row["scale"]), row.get("name", ""), row.get("finish", "stop")
    return rating.read_rating(row["text"], scale, name=name, finish=finish).value


class _Reader(NamedTuple):
    """How the rows of one kind are read, and what a person read in them."""

    read: Callable[[Mapping[str, Any]], str | float | None]
    meant: Callable[[Mapping[str, Any]], frozenset[Any]]


_READERS: Final = {
    "choice": _Reader(_letter, _letters_meant),
    "rating": _Reader(_rating, _value_meant),
    "yes_no": _Reader(_verdict, _verdict_meant),
    "preference": _Reader(_verdict, _verdict_meant),
    "label": _Reader(_verdict, _verdict_meant),
}
_KINDS: Final = (("options", "choice"), ("scale", "rating"), ("labels", "label"))
"""What a row holds, where its `kind` is none of these names."""


def counts_of(rows: Sequence[Row]) -> tuple[dict[str, Counter[str]], float]:
    """Right, wrong and missed per set, and seconds of CPU."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    started = time.process_time()
    for row in rows:
        read = row.read()
        counts[row.name]["right" if read in row.meant else "missed" if read is None else "wrong"] += 1
    return counts, time.process_time() - started


def tally(rows: Sequence[Row]) -> Tally:
    """The counts over all sets."""
    total: Counter[str] = sum(counts_of(rows)[0].values(), Counter())
    return Tally(total["right"], total["wrong"], total["missed"])


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of a table per set."""
    counts, seconds = counts_of(rows)
    yield "| set | replies | right | wrong | missed |"
    yield "|---|---|---|---|---|"
    for name, count in sorted(counts.items()):
        number = count.total()
        yield f"| {name} | {number} | {100 * count['right'] / number:.2f} % | {count['wrong']} | {count['missed']} |"
    yield f"\n{1e6 * seconds / len(rows):.0f} µs of CPU a reply"


def without_rules(rows: Sequence[Row]) -> Iterator[tuple[str, Tally]]:
    """The counts without each rule."""
    rules = choice.RULES
    for rule in rules:
        choice.RULES = tuple(other for other in rules if other is not rule)
        yield f"rule {rule.__name__.strip('_')}", tally(rows)
    choice.RULES = rules
    decide = rating.decide_rating
    for form in RATING_FORMS:

        def without(candidates: Sequence[Any], page: Any, form: str = form) -> Any:
            return decide([candidate for candidate in candidates if candidate.source != form], page)

        rating.decide_rating = without
        yield f"form {form}", tally(rows)
    rating.decide_rating = decide


def without_phrases(rows: Sequence[Row]) -> Iterator[tuple[str, Tally]]:
    """The counts without each template of the lexicon."""
    for language in _LANGUAGES:
        for section in _SECTIONS:
            for kind, templates in grammar.lexicon(language).get(section, {}).items():
                if not kind.endswith("_hints"):
                    yield from _without_each(rows, templates, f"{language} {section}.{kind}")


def without_words(rows: Sequence[Row]) -> Iterator[tuple[str, Tally]]:
    """The counts without each entry of the word lists."""
    for language in _LANGUAGES:
        for name, entries in grammar.lexicon(language)["words"].items():
            yield from _without_each(rows, entries, f"{language} <{name}>")


def _without_each(rows: Sequence[Row], entries: list[str], name: str) -> Iterator[tuple[str, Tally]]:
    for number in range(len(entries)):
        entry = entries.pop(number)
        _recompile()
        yield f"{name}: {entry}", tally(rows)
        entries.insert(number, entry)
    _recompile()


def _recompile() -> None:
    """Make the reader again from the lexicon as it is in memory."""
    caches = (grammar.pattern, grammar.pattern_in, grammar.source, grammar.hints, grammar.words, grammar.languages_in)
    for cached in caches:
        cached.cache_clear()
    for module in (*_CHOICE, *_RATING, *_JUDGES):
        importlib.reload(module)


ABLATIONS: Final[dict[str, Callable[[Sequence[Row]], Iterator[tuple[str, Tally]]]]] = {
    "rules": without_rules,
    "phrases": without_phrases,
    "words": without_words,
}


def ablation(rows: Sequence[Row], what: str) -> Iterator[str]:
    """A line for each rule, phrase or word: what changes without it; those that change nothing are counted."""
    whole = tally(rows)
    idle = 0
    yield "| without | right | wrong | missed |\n|---|---|---|---|"
    yield f"| nothing | {whole.right} | {whole.wrong} | {whole.missed} |"
    for name, counts in ABLATIONS[what](rows):
        if counts == whole:
            idle += 1
            continue
        changes = [f"{now - before:+d}" for now, before in zip(counts, whole, strict=True)]
        yield f"| {name.replace('|', chr(92) + '|')} | {' | '.join(changes)} |"
    yield f"\n{idle} change nothing"


def measure() -> list[str]:
    """The lines of the tables of our own replies and of times."""
    return [*table(list(rows_of(OWN_REPLIES))), "", *shapes()]


def shapes(count: int = 2_000) -> Iterator[str]:
    """The time for replies of each shape."""
    yield "| replies | mean characters | µs each | not read as meant |\n|---|---|---|---|"
    for shape in SHAPES:
        draw = random.Random(shape)
        made = [_reply(shape, draw) for _ in range(count)]
        started = time.process_time()
        wrong = sum(choice.read_choice(reply, OPTIONS).letters != (letter,) for reply, letter in made)
        seconds = time.process_time() - started
        length = sum(len(reply) for reply, _ in made) / count
        yield f"| {shape} | {length:.0f} | {1e6 * seconds / count:.0f} | {wrong} |"


def _reply(shape: str, draw: random.Random) -> tuple[str, str]:
    place, other = draw.sample(range(len(OPTIONS)), 2)
    letter = chr(ord("A") + place)
    words = {
        "letter": letter,
        "other": chr(ord("A") + other),
        "option": OPTIONS[place],
        "text": " ".join(draw.choices(_TEXTS, k=draw.randint(1, 4))),
    }
    return draw.choice(SHAPES[shape]).format(**words), letter


def main() -> None:
    """Print what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="*", type=Path, help="labelled replies, as JSON lines")
    parser.add_argument("--ablate", choices=ABLATIONS, help="what each of these is worth on the replies")
    arguments = parser.parse_args()
    try:
        rows = [row for path in arguments.files for row in rows_of(path)]
    except ValueError as error:
        parser.error(str(error))
    if not rows:
        lines = iter(measure())
    elif arguments.ablate:
        lines = ablation(rows, arguments.ablate)
    else:
        lines = table(rows)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
