"""How labelled replies are read: right, wrong and missed per set, CPU time, and what each rule and phrase is worth.

python -m benchmarks.replies FILE.jsonl [FILE.jsonl ...] [--ablate rules|phrases|words]

A row has `reply`, `options` (a list, or texts by letter) and what a person read: `label`, a list of the letters that
are acceptable with null for none, or `letters` with `kind` (any kind but `letter` means that none is given). A judge's
reply has `kind` (`yes_no` or `preference`), `text` and `expected`: `yes`, `no`, `A`, `B` or `tie`, anything else where
no verdict is given. `set`, `family` or `kind` names its set. Without files the time for replies of some shapes is
measured.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from steelyard.replies import (
    choice,
    choice_letters,
    choice_texts,
    evidence,
    grammar,
    judge_reply,
    options,
    pair_names,
    preference,
    yes_no,
)
from steelyard.replies.verdict import Verdict

_LANGUAGES: Final = ("en", "zh")
_SECTIONS: Final = ("choice", "page", "judge", "yes_no", "preference")
_VERDICTS: Final = frozenset({"yes", "no", "A", "B", "tie"})
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
    """One labelled reply; `answers` are the acceptable ones, None among them where none is right."""

    name: str
    reply: str
    answers: frozenset[str | None]
    options: Any = ()
    question: str = ""
    kind: str = "choice"
    parameters: Mapping[str, Any] = MappingProxyType({})

    def read(self) -> str | None:
        """The letter, or the judge's verdict, that is read; None where there is none."""
        if self.kind == "yes_no":
            return _label(yes_no.read_yes_no(self.reply, **self.parameters))
        if self.kind == "preference":
            return _label(preference.read_preference(self.reply, **self.parameters))
        reading = choice.read_choice(self.reply, self.options, question=self.question)
        return reading.letters[0] if reading.status == "answered" else None


def _label(verdict: Verdict) -> str | None:
    return verdict.label if verdict.outcome == "scored" else None


class Tally(NamedTuple):
    """Counts of one pass over all rows."""

    right: int
    wrong: int
    missed: int


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("kind") in {"yes_no", "preference"}:
            expected = row["expected"] if row["expected"] in _VERDICTS else None
            name = row.get("set") or row.get("family") or row["kind"]
            parameters = {key: row[key] for key in ("finish",) if key in row}
            if "names" in row:
                parameters["names"] = tuple(row["names"])
            yield Row(
                f"{row['kind']}: {name}", row["text"], frozenset([expected]), kind=row["kind"], parameters=parameters
            )
            continue
        if "label" in row:
            letters = frozenset(row["label"])
        else:
            letters = frozenset(row["letters"] if row["kind"] == "letter" else [None])
        name = row.get("set") or f"{path.stem}: {row.get('kind', 'all')}"
        yield Row(name, row["reply"], letters, row["options"], row.get("question", ""))


def counts_of(rows: Sequence[Row]) -> tuple[dict[str, Counter[str]], float]:
    """Right, wrong and missed per set, and seconds of CPU."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    started = time.process_time()
    for row in rows:
        answer = row.read()
        counts[row.name]["right" if answer in row.answers else "wrong" if answer else "missed"] += 1
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


def without_phrases(rows: Sequence[Row]) -> Iterator[tuple[str, Tally]]:
    """The counts without each template of the lexicon."""
    for language in _LANGUAGES:
        for section in _SECTIONS:
            for kind, templates in grammar.lexicon(language)[section].items():
                if not kind.endswith("_hints"):
                    yield from _without_each(rows, templates, f"{language} {section}.{kind}")


def without_words(rows: Sequence[Row]) -> Iterator[tuple[str, Tally]]:
    """The counts without each entry of the word lists."""
    for language in _LANGUAGES:
        for name, entries in grammar.lexicon(language)["words"].items():
            yield from _without_each(rows, entries, f"{language} <{name}>")


def _without_each(rows: Sequence[Row], entries: list[str], name: str) -> Iterator[tuple[str, Tally]]:
    for number, entry in enumerate(entries):
        entries[number] = f"(?!){entry}"  # matches nothing, and keeps the groups that a reader asks for
        _recompile()
        yield f"{name}: {entry}", tally(rows)
        entries[number] = entry
    _recompile()


def _recompile() -> None:
    """Make the reader anew from the lexicon as it is in memory."""
    grammar.pattern.cache_clear()
    grammar.source.cache_clear()
    pair_names.pair_names.cache_clear()
    judged = (judge_reply, yes_no, pair_names, preference)
    for module in (evidence, options, choice_letters, choice_texts, choice, *judged):
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
    """The lines of the table of times."""
    return list(shapes())


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
    rows = [row for path in arguments.files for row in rows_of(path)]
    if not rows:
        lines = shapes()
    elif arguments.ablate:
        lines = ablation(rows, arguments.ablate)
    else:
        lines = table(rows)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
