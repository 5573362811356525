"""Labels of people on a sample, given on its page too, and verdicts of other runs on the same answers.

Whoever sees a verdict is led by it, so labels given on the page (pass or fail, of a pair the better answer, and a note)
have a name of their own, and neither agreement nor corrected rates nor gates count them; those take the labels of
queues, which are drawn and given without a verdict in view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.label_forms import COMMENT, IN_VIEW, PASS_OR_FAIL
from steelyard.analysis.numbers import score_title, verdict_words
from steelyard.errors import ConfigError, SteelyardError
from steelyard.escaping import cell_text
from steelyard.people.labels import add_labels
from steelyard.plain_json import grouped
from steelyard.report.judge_reasons import named_verdict
from steelyard.store import Run
from steelyard.store.related_runs import labels_of_sample, related_runs
from steelyard.types import Label, LabelKind, Record
from steelyard.viewer.forms import Form, typed_text
from steelyard.viewer.named_address import sample_address
from steelyard.viewer.pages import Pages
from steelyard.viewer.sample_cells import VerdictWords


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """A label on a record: its name as stored and as a heading, value as stored and in words, author and time."""

    about: str
    name: str
    stored: str
    value: str
    author: str
    at: str


@dataclass(frozen=True, slots=True)
class OtherVerdicts:
    """The verdict of another run about the same answers on this sample.

    Args:
        name: of the run: its suite and target.
        run: its id.
        verdicts: the state for a mark, the verdict in words, its score and the reason, for all repeats.
    """

    name: str
    run: str
    verdicts: tuple[tuple[str, str, str, str], ...]


def sample_opinions(run: Run, sample: str) -> Mapping[str, Any]:
    """Values that `sample_body.html.j2` shows next to a run's own scores of a sample.

    Args:
        run: that is shown.
        sample: its id.
    """
    by_repeat = grouped((label.repeat, _shown(label, run)) for label in labels_of_sample(run, sample))
    others = [_other(each, records) for each in related_runs(run) if (records := each.records_of([sample]))]
    return {"labels": by_repeat, "others": others}


def labels_text(labels: Sequence[Label], run: Run) -> str:
    """What people said of a record in a line of a table: each verdict and note, then who gave it."""
    said: dict[str, list[str]] = {}
    for label in sorted(labels, key=lambda label: label.name == COMMENT):
        shown = _shown(label, run)
        is_named = label.name not in {IN_VIEW, COMMENT, run.manifest.get("primary")}
        said.setdefault(label.author, []).append(f"{shown.name} {shown.value}" if is_named else shown.value)
    return " · ".join(f"{', '.join(texts)} ({author})" for author, texts in said.items())


def _other(run: Run, records: Sequence[Record]) -> OtherVerdicts:
    """The verdicts of another run on a sample, empty where it has only an answer."""
    words = VerdictWords.plain(run)
    cells = ((score, words.cell(record, score.name)) for record in records for score in record.scores)
    verdicts = tuple((state, text, score_title(score.name), score.reason) for score, (state, text, _) in cells)
    return OtherVerdicts(f"{run.suite} {run.target} {run.id}", run.id, verdicts)


def _shown(label: Label, run: Run) -> ShownLabel:
    """A label; pass and fail are shown in the words of their score, the better answer by its target."""
    # A number as people write it: 2 where the label holds 2.0.
    value = f"{label.value:.4g}" if isinstance(label.value, float) else cell_text(label.value)
    about = str(run.manifest.get("primary", "")) if label.name == IN_VIEW else label.name
    if label.kind == "pass_fail" and label.value in PASS_OR_FAIL:
        value = verdict_words(run.score_infos.get(about))[PASS_OR_FAIL.index(label.value)]
    elif label.kind == "preference" and is_judging(run.manifest):
        value = named_verdict(value, sides_of(run.manifest))
    return ShownLabel(
        label.name, score_title(label.name), cell_text(label.value), value, label.author, f"{label.at:%Y-%m-%d}"
    )


def verdicts_in_view(run: Run) -> tuple[tuple[str, str, str, str], ...]:
    """What the panel offers: each label's value, the state for its mark, its words and its key."""
    if is_judging(run.manifest):
        first, second = sides_of(run.manifest)
        return ("A", "", first, "1"), ("tie", "", "tie", "2"), ("B", "", second, "3")
    words = verdict_words(run.score_infos.get(str(run.manifest.get("primary", ""))))
    return tuple(zip(PASS_OR_FAIL, ("right", "wrong"), words, "12", strict=True))


def label_routes(pages: Pages) -> list[Route]:
    """The route that stores labels given on a sample's page."""

    def label(request: Request, form: Form) -> Response:
        text, author = typed_text(form.get("comment", "")), form.get("author", "").strip()
        try:
            run = pages.run(request)
            add_labels(pages.store, run, _labels(run, form, text, author))
        except SteelyardError as error:
            return pages.unplaced(request, error, text)
        query: dict[str, Sequence[str]] = dict(parse_qs(form.get("back", "")))
        query.pop("id", None)
        query["labelled"] = "1"
        return pages.signed_redirect(request, sample_address(pages.address, run.id, form["sample"], **query), author)

    return [pages.takes("/run/{run}/label", label)]


def _labels(run: Run, form: Form, text: str, author: str) -> list[Label]:
    """The labels of a form: the verdict where a button of one was pressed, and the note where there is one.

    Raises:
        ConfigError: another verdict, or a repeat that is not a number.
    """
    sample, repeat, verdict = form.get("sample", ""), form.get("repeat", "0"), form.get("verdict")
    values = [value for value, *_ in verdicts_in_view(run)]
    if not (repeat.isascii() and repeat.isdecimal() and len(repeat) < 10) or verdict not in (*values, "", None):
        raise ConfigError(f"a label is {' or '.join(values)} of a repeat, not {verdict!r} of {repeat!r}")
    at, number = datetime.now(UTC), int(repeat)
    labels = [Label(sample, COMMENT, text or None, author, at, number, "text")]
    if verdict is not None:  # a blank one withdraws the author's label
        kind: LabelKind = "preference" if is_judging(run.manifest) else "pass_fail"
        labels.append(Label(sample, IN_VIEW, verdict or None, author, at, number, kind if verdict else ""))
    return labels
