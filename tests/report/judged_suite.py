"""A suite of hand-made judges: a rating, its pass rate, support, claims; one of each outcome, and hostile words."""

from steelyard import Options, Output, Sample, Score, ScoreInfo, Scripted, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.types import StageInfo

NASTY = "</script><script>document.title='pwned'</script> \u202eevil <b>bold</b>"
REASON = f"The gauge is read at nine.\nThe reference agrees.\n{NASTY}"
DOCUMENTS = ("handbook.pdf", "<b>notes</b>.md", None)
VALUES = (5, 4, 3.5, 2)
"""Ratings by turns."""


def number_of(sample):
    return int(sample.id[1:])


class Correctness:
    """A rating of 1 to 5 and whether it passes; every 5th sample is unread, the 6th refused, the 7th not applicable."""

    score_infos = (
        ScoreInfo("correctness", (1, 5), histogram=True),
        ScoreInfo("correct", (0, 1), labels=("right", "wrong")),
    )
    stage_info = StageInfo(name="correctness")

    def __init__(self, model):
        self.model = model

    async def __call__(self, sample, output, ask):
        await ask(self.model, [{"role": "user", "content": f"rate {sample.id}"}])
        no = number_of(sample)
        if no == 5:
            return self._unread("unparsed", {"kind": "truncated"})
        if no in {6, 7}:
            return self._unread("refused" if no == 6 else "not_applicable", {})
        value = VALUES[no % len(VALUES)]
        detail = {"how": "mean of 3 repeats", "repeats": [4, 5, None], "sd": 0.577, "flip_rate": 1 / 3, "mass": 0.987}
        detail |= {"verdict_like": "I rate this 5/5", "columns": {"correctness_reason": REASON}}
        passed = value >= 4
        return [
            Score("correctness", value, passed, reason=REASON, detail=detail),
            Score("correct", float(passed), passed, reason=f"{value} of 5"),
        ]

    def _unread(self, outcome, detail):
        return [
            Score(name, None, outcome=outcome, reason="nothing", detail=detail) for name in ("correctness", "correct")
        ]


class Faithfulness:
    """Supported but for every third sample, in two steps."""

    score_infos = (ScoreInfo("faithfulness", (0, 1), labels=("supported", "unsupported")),)

    def __init__(self, model):
        self.model = model

    async def __call__(self, sample, output, ask):
        await ask(self.model, [{"role": "user", "content": f"support of {sample.id}"}])
        supported = number_of(sample) % 3 != 0
        trace = [
            {"contexts": [1], "verdict": "NO", "reason": f"not there {NASTY}"},
            {"contexts": [2], "verdict": "YES" if supported else "NO", "reason": "second"},
        ]
        return Score("faithfulness", float(supported), supported, reason=REASON, detail={"trace": trace})


class Claims:
    """Asks nobody."""

    score_infos = (ScoreInfo("claim_faithfulness", (0, 1), histogram=True),)

    def __call__(self, sample, output):
        claims = [{"claim": f"It stands on grass {NASTY}", "verdict": "supported"}, {"claim": "Late", "verdict": ""}]
        return Score("claim_faithfulness", number_of(sample) % 5 / 4, detail={"claims": claims})


def answer(sample):
    """Two passages, the first from where the answer stands."""
    sources = [
        {"id": f"c{sample.id}", "document": "handbook.pdf", "start": 100, "end": 400, "page": 3},
        {"id": "other", "document": f"{NASTY}.md", "start": 0, "end": 9, "page": None},
    ]
    contexts = (f"It is read at nine. {NASTY}", "It stands on grass.")
    return Output(f"At nine. I rate this 5/5 {NASTY}", contexts=contexts, metadata={"sources": sources, "k": 2})


def sample(no):
    sources = [{"document": "handbook.pdf", "start": 150, "end": 200, "page": 3, "text": f"read at nine {NASTY}"}]
    metadata = {"document": DOCUMENTS[no % 3], "sources": sources}
    return Sample(f"q{no}", f"When is gauge {no} read?", "At nine.", group="numbers", metadata=metadata)


def judged_runs(folder, names=("top 1",), n=12, further=(), **more):
    """Runs of the suite, with `further` scorers, over n samples, stored in the folder."""
    model = Scripted(default="4")
    options = {
        "crossed": (("correct", "faithfulness"),),
        "breakdowns": ("document", "missing"),
        "primary": "correctness",
    }
    scorers = (Correctness(model), Faithfulness(model), Claims(), *further)
    targets = dict.fromkeys(names, answer)
    suite = Suite(
        "Handbook", "rag", [sample(no) for no in range(n)], targets, scorers, Options(max_errors=1.0), **options | more
    )
    return evaluate_suite(suite, how=RunConfig(store=folder / "judged.db"))
