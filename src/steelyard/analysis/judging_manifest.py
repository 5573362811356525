"""What a manifest says about judging: the judges and their settings; for pairs of answers, the sides and the score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from steelyard.analysis.scores.score_infos import jury_score, jury_scores, score_infos
from steelyard.errors import ConfigError

PairSide = Literal["A", "B"]
SIDES: Final[tuple[PairSide, ...]] = ("A", "B")
CHARS: Final = "chars"
"""Key in the detail of a verdict on a pair: characters of both answers, A first."""
STYLE: Final = "style"
"""The same: of both answers, how often each of `STYLES` occurs."""
STYLES: Final = ("headings", "list items", "bold")
DIFFICULTY: Final = "instruction_difficulty"
"""The same, and in a sample's metadata: how hard the instruction is, a number on a scale of the user's."""
OF_ANSWERS: Final = ("alike", CHARS, STYLE, DIFFICULTY)
"""What the detail of a verdict on a pair says of its answers, whoever judged."""
JUDGES: Final = "judges"
"""Kind of the runs that judge the answers of a stored run."""
CANARY: Final = "canary"
"""Ends the name of the suite in which the same judges see answers with an injected instruction."""


def is_judging(manifest: Mapping[str, Any]) -> bool:
    """Whether a run's target pairs the answers of two others."""
    target = manifest.get("target")
    return isinstance(target, Mapping) and isinstance(target.get("pair"), Mapping)


def only_answers(manifest: Mapping[str, Any]) -> bool:
    """Whether a run was configured without scores, as its answers are judged in another run."""
    return manifest.get("scores") == [] and not is_judging(manifest)


def sides_of(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """Names of the two sides of a judging run.

    Raises:
        ConfigError: it is not a judging run.
    """
    if not is_judging(manifest):
        raise ConfigError("this run judges no pairs of answers: preferences need a run of the suite pairwise")
    pair = manifest["target"]["pair"]
    first, second = pair.get("names") or (pair.get("first", "A"), pair.get("second", "B"))
    return str(first), str(second)


def score_of(manifest: Mapping[str, Any]) -> str:
    """Name of the score with the preferences: `preference`, else that of the jury, else the run's headline."""
    scores = manifest.get("scores") or ["preference"]
    if "preference" in scores:
        return "preference"
    headline = str(manifest.get("primary") or scores[0])
    declared = (manifest.get("score_infos") or {}).get(headline) or {}
    of_jury = jury_score(declared.get("rates") or headline)
    return of_jury if of_jury in scores else headline


def judge_of(described: Any) -> Mapping[str, Any]:
    """The judge in a manifest's entry of a scorer, or of the scorer that it scores by; empty without one.

    >>> judge_of({"correctness": {"judge": {"name": "strict"}}})
    {'name': 'strict'}
    """
    fields = next(iter(described.values()), None) if isinstance(described, Mapping) else None
    if not isinstance(fields, Mapping):
        return {}
    if "judge" not in fields:
        return judge_of(fields.get("scorer"))
    judge = fields["judge"]
    return judge if isinstance(judge, Mapping) else {}


def has_structured_judge(manifest: Mapping[str, Any]) -> bool:
    """Whether a judge of a run asks for its verdicts as JSON."""
    return any(judge_of(described).get("structured") for described in manifest.get("scorers", {}).values())


def judged_run(manifest: Mapping[str, Any], kind: str) -> str:
    """Id of the run whose answers a run of judges judges; "" for other runs, and for a canary, whose answers differ."""
    target = manifest.get("target")
    if kind != JUDGES or not isinstance(target, Mapping) or target.get("canary"):
        return ""
    return str(target.get("run", ""))


def judge_names(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Stage -> the name of its judge, of those that have one, in the order of the stages."""
    scorers = manifest.get("scorers", {})
    names = {}
    for stage in manifest.get("stages", ()):
        name = judge_of(scorers.get(stage)).get("name")
        if isinstance(name, str) and name:
            names[stage] = name
    return names


def jury_scores_of(manifest: Mapping[str, Any]) -> list[str]:
    """The scores of a run's jury; none where its suite has no voting rule."""
    if not manifest.get("jury", {}).get("vote"):
        return []
    return jury_scores(manifest.get("scores", ()), score_infos(manifest), judge_names(manifest).values())
