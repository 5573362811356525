"""A manual as PDF, questions about it, and which retrieved passages hold a source by an independent count of words.

The PDF has what makes readers disagree: running heads and page numbers, words that are hyphenated at line ends,
ligatures, and a line break after every line.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

_THINGS = ("barometer", "rain-gauge", "thermometer", "anemometer", "hygrometer", "windlass", "generator", "lantern")
_PLACES = ("Northmarch", "Ashford", "Greyfield", "Longmere", "Highcastle", "Oakhaven", "Riverton", "Stonebridge")
_DEEDS = ("inspects", "repairs", "calibrates", "photographs", "dismantles", "refills", "disinfects", "certifies")
_WHEN = (
    "after the first flood",
    "before the autumn inspection",
    "during official holidays",
    "whenever the wind reflects off the cliff",
)
_HOW = (
    "with insufficient light",
    "in a profoundly unsatisfactory manner",
    "by means of a flexible filament",
    "under considerable pressure",
)
_WHO = (
    "the chief engineer",
    "a qualified officer",
    "the affiliated observer",
    "an apprentice from the foundry",
    "the finance office",
)


def sentences(count: int, seed: int) -> list[str]:
    """Sentences that are told apart by names and figures, and share many words."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        who, how, when = draw.choice(_WHO), draw.choice(_HOW), draw.choice(_WHEN)
        thing, place, deed = draw.choice(_THINGS), draw.choice(_PLACES), draw.choice(_DEEDS)
        number, year = draw.randint(11, 989), draw.randint(1801, 1999)
        found.append(
            draw.choice(
                [
                    f"In {year} {who} of {place} {deed} the {thing} number {number} {how}.",
                    f"The {thing} of {place} weighs {number} kilograms, and {who} {deed} it {when}.",
                    f"{when.capitalize()}, {who} {deed} {number} parts of the {thing} at {place} {how}.",
                    f"{place} keeps a {thing} from {year}, which {who} {deed} {how} {when}.",
                ]
            )
        )
    return found


def write_manual(path: Path, seed: int, *, pages: int = 14) -> None:
    """Write the PDF: paragraphs of six sentences, ragged lines that are hyphenated where the next word is long."""
    from reportlab import rl_config
    from reportlab.lib.pagesizes import A5
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    rl_config.invariant = 1
    pdfmetrics.registerFont(TTFont("Vera", "Vera.ttf"))
    canvas = Canvas(str(path), pagesize=A5)
    texts = sentences(pages * 11, seed)
    lines: list[str] = []
    for at in range(0, len(texts), 6):
        lines += [*_wrapped(" ".join(texts[at : at + 6])), ""]
    for page in range(1, pages + 1):
        canvas.setFont("Vera", 8)
        canvas.drawString(40, 570, "Manual of the Observers' Office")
        canvas.drawRightString(380, 570, f"Chapter {1 + page // 5}")
        canvas.drawCentredString(210, 25, f"page {page} of {pages}")
        canvas.setFont("Vera", 9)
        body, lines = lines[:38], lines[38:]
        for at, line in enumerate(body):
            canvas.drawString(40, 545 - 13 * at, line.replace("fi", "ﬁ").replace("fl", "ﬂ"))
        canvas.showPage()
    canvas.save()


def _wrapped(text: str) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if len(line) + 1 + len(word) <= 62:
            line = f"{line} {word}".strip()
        elif len(word) > 8 and "-" not in word and len(line) < 57:
            half = len(word) // 2
            lines.append(f"{line} {word[:half]}-")
            line = word[half:]
        else:
            lines.append(line)
            line = word
    return [*lines, line]


def steelyard(program: Path, folder: Path, *arguments: str) -> str:
    """What a command of the environment's own steelyard prints; it must succeed."""
    done = subprocess.run(
        [program, *arguments], cwd=folder, env=os.environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_questions(program: Path, folder: Path, documents: str, *, tokens: int = 96) -> None:
    """`questions.jsonl`: two sentences of each chunk with a phrase left out, and the chunk as source."""
    more = ("--baseline", "cloze", "--per-chunk", "2", "--chunk-tokens", str(tokens), "--quiet")
    steelyard(program, folder, "generate", "qa", "--documents", documents, "--out", "questions.jsonl", *more)


def evaluate_manual(program: Path, folder: Path, module: str, configuration: str) -> dict[str, dict[str, Any]]:
    """Run `configuration` on questions about `manual.pdf`, which names the user's `module` as `system`.

    Returns what the command's JSON says of each target's run.
    """
    write_questions(program, folder, "manual.pdf")
    (folder / "system.py").write_text(module)
    (folder / "rag.yaml").write_text(configuration)
    summary = json.loads(steelyard(program, folder, "run", "rag.yaml", "--json", "--quiet"))
    return {run["target"]: run for run in summary["runs"]}


def matched_by_page(program: Path, folder: Path, target: str) -> dict[str, Any]:
    """By what passages matched where the questions name their sources by document and page alone."""
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()]
    kept = [{key: row[key] for key in ("id", "question", "document", "page")} for row in rows]
    (folder / "pages.jsonl").write_text("\n".join(map(json.dumps, kept)), "utf-8")
    (folder / "pages.yaml").write_text(
        f"suite: rag\nsamples: {{file: pages.jsonl}}\ntargets: {{by-page: {target}}}\nscorers: [retrieval]\n"
    )
    (run,) = json.loads(steelyard(program, folder, "run", "pages.yaml", "--json", "--quiet"))["runs"]
    return run["matched"]


def agreement(program: Path, folder: Path, run: str) -> tuple[float, int, int]:
    """Share of the questions whose hit is what a count of words says; how many are hits, how many there are."""
    records = json.loads(steelyard(program, folder, "show", run, "--only", "all", "--most", "100000", "--json"))
    agreed = hits = 0
    for record in records:
        (score,) = (one for one in record["scores"] if one["name"] == "hit_rate")
        source = record["sample"]["metadata"]["sources"][0]["text"]
        truth = any(holds(passage, source) for passage in record["output"]["contexts"])
        agreed += score["value"] == float(truth)
        hits += truth
    return agreed / len(records), hits, len(records)


def holds(passage: str, source: str) -> bool:
    """Whether half of the runs of 8 words of the shorter text stand in the other one; written apart from ours."""
    shorter, longer = sorted((_runs(passage), _runs(source)), key=len)
    return sum(run in set(longer) for run in shorter) >= 0.5 * len(shorter) > 0


def _words(text: str) -> list[str]:
    plain = re.sub(r"[-\ufffe\x02]\s*\n\s*", "", unicodedata.normalize("NFKC", text)).replace("-", "").lower()
    return re.findall(r"[a-z0-9]+", plain.replace("\ufffe", "").replace("\x02", ""))


def _runs(text: str) -> list[tuple[str, ...]]:
    words = _words(text)
    return [tuple(words[at : at + 8]) for at in range(len(words) - 7)]


def misplaced(program: Path, folder: Path, run: str) -> list[str]:
    """Passages that do not begin on the page that their source names, by the words of that page."""
    from pypdfium2 import PdfDocument

    pdf = PdfDocument(folder / "manual.pdf")
    pages = [" ".join(_words(page.get_textpage().get_text_range())) for page in pdf]
    records = json.loads(steelyard(program, folder, "show", run, "--only", "all", "--most", "100000", "--json"))
    return [
        passage
        for record in records
        for passage, source in zip(record["output"]["contexts"], record["output"]["metadata"]["sources"], strict=True)
        if source["document"] != "manual.pdf" or " ".join(_words(passage)[1:8]) not in pages[source["page"] - 1]
    ]
