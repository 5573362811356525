"""A pairwise evaluation made by hand: two targets that answer, and a preference that is known beforehand."""

from steelyard import Options, Output, Sample, Score, ScoreInfo, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.targets.replay import Pair

NASTY = "</script><script>document.title='pwned'</script> \u202eevil <b>bold</b>"
GROUPS = ("cooking <i>", "garden")
SLOTS = {("AB", "A"): 1, ("AB", "B"): 2, ("BA", "A"): 2, ("BA", "B"): 1}


def number_of(sample):
    return int(sample.id[1:])


def ours(sample):
    """Every 10th answer is an error."""
    if number_of(sample) % 10 == 9:
        raise RuntimeError("down")
    return Output(f"Ours, answer {number_of(sample)}. {NASTY}", metadata={"finish": "length"})


def theirs(sample):
    return f"Theirs, answer {number_of(sample)}."


def verdicts(no):
    """What the judge says of both orders: A, A for most, then B, B, a tie, a disagreement."""
    return {5: ("B", "B"), 6: ("tie", "tie"), 7: ("A", "B")}.get(no % 10, ("A", "A"))


class Preferring:
    """A preference as judges give it; the 9th of every ten cannot be read, identical answers are not looked for."""

    score_infos = (ScoreInfo("preference", (0, 1), named_verdicts=True),)

    def __call__(self, sample, output):
        missing = [side for side in "AB" if output.value[side] is None]
        if missing:
            detail = {"side": missing[0], "why": "error", "by": "judge"}
            return Score("preference", None, outcome="not_applicable", reason="a side gave no answer", detail=detail)
        no = number_of(sample)
        verdict_list = verdicts(no)
        orders = [
            {
                "shown": shown,
                "verdict": verdict,
                "slot": SLOTS.get((shown, verdict), 0),
                "outcome": "scored",
                "kind": "",
                "reason": f"{shown} because of {NASTY}",
            }
            for shown, verdict in zip(("AB", "BA"), verdict_list, strict=True)
        ]
        if no % 10 == 8:
            orders[1] |= {"outcome": "unparsed", "kind": "none", "verdict": "", "slot": 0}
            return Score(
                "preference", None, outcome="unparsed", reason="no verdict", detail={"kind": "none", "orders": orders}
            )
        label = verdict_list[0] if verdict_list[0] == verdict_list[1] else "inconsistent"
        value = {"A": 1.0, "B": 0.0}.get(label, 0.5)
        detail = {"label": label, "orders": orders, "by": "judge", "alike": no == 6}
        return Score("preference", value, reason=f"Because {NASTY}", detail=detail)


def pairwise_runs(folder, n=40, *, third=False, groups=GROUPS, scorers=(), **options):
    """The answering runs, then the judging ones, over n samples."""
    samples = [Sample(f"q{no:03d}", f"How to do {no}? {NASTY}", group=groups[no % len(groups)]) for no in range(n)]
    targets = {"ours <b>": ours, "theirs": theirs}
    pairs = [("ours <b>", "theirs")]
    if third:
        targets["floor"] = lambda sample: "I do not know."
        pairs += [("ours <b>", "floor"), ("theirs", "floor")]
    targets |= {f"{first} vs {second}": Pair(first, second) for first, second in pairs}
    suite = Suite(
        "How-to",
        "pairwise",
        samples,
        targets,
        scorers,
        Options(max_errors=1.0, **options),
        scorers_of={f"{first} vs {second}": (Preferring(),) for first, second in pairs},
    )
    return evaluate_suite(suite, how=RunConfig(store=folder / "pairs.db"))
