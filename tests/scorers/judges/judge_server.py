"""A scripted judge on loopback: what each reply is, and what was sent for it, through the real path of `evaluate`.

    found = judged(lambda judge: Relevance(judge), samples, lambda asked: "4")
    found.scores["fr"]["relevance"].value; found.prompts[0]

`reply(asked)` gives a text, or one of `said(...)` (with another finish, with logprobs), `refused()`, `filtered()` and
`failed(500)`. The target is a function, so every call that the server sees is a judge's.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import dataclass

from tests.loopback import http, peer

from steelyard import OpenAICompatible, Output, Sample, aevaluate
from steelyard.models import Retry
from steelyard.scorers.judges.judge import Judge


@dataclass(frozen=True)
class Asked:
    """One call that the judge got: its place among all (0-based, by arrival), its prompt, and its whole body."""

    no: int
    prompt: str
    body: dict


@dataclass(frozen=True)
class Judged:
    run: object
    asked: list[Asked]
    records: list

    @property
    def prompts(self):
        return [one.prompt for one in self.asked]

    @property
    def scores(self):
        """Sample id -> score name -> score, of the first repeat."""
        firsts = [record for record in self.records if record.repeat == 0]
        return {record.sample.id: {score.name: score for score in record.scores} for record in firsts}

    @property
    def only(self):
        """The one score of the one sample."""
        [record] = self.records
        assert record.failure is None, record.failure
        [score] = record.scores
        return score

    @property
    def failure(self):
        """The failure of the one sample, which has no score."""
        [record] = self.records
        assert record.scores == ()
        return record.failure


def said(text, *, finish="stop", logprobs=None):
    """A reply; `logprobs` are tokens as `token` makes them."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    if logprobs is not None:
        choice["logprobs"] = {"content": logprobs}
    usage = {"prompt_tokens": 200, "completion_tokens": 3}
    return http(200, {"model": "judge", "choices": [choice], "usage": usage})


def refused(words="I cannot help with that."):
    """A refusal in the field that OpenAI has for it."""
    message = {"role": "assistant", "content": None, "refusal": words}
    return http(200, {"model": "judge", "choices": [{"message": message, "finish_reason": "stop"}]})


def filtered():
    """What a content filter stopped."""
    return http(400, {"error": {"message": "filtered", "code": "content_filter"}})


def failed(status=500, message="on purpose"):
    """An endpoint's error."""
    return http(status, {"error": {"message": message}})


def token(text, alternatives=None):
    """One token of a reply, with the probabilities of what might have stood there (itself among them)."""
    listed = alternatives or {text: 1.0}
    top = [_entry(one, share) for one, share in sorted(listed.items(), key=lambda pair: -pair[1])]
    return _entry(text, listed.get(text, 0.01)) | {"top_logprobs": top}


def _entry(text, share):
    return {"token": text, "logprob": math.log(share), "bytes": list(text.encode())}


def answer_of_the_sample(sample):
    """The target: what the sample's metadata holds as `answer` and `found` (the retrieved passages)."""
    return Output(sample.metadata["answer"], tuple(sample.metadata.get("found", ())))


def sample(answer="Paris", question="Capital of France?", reference="Paris", no="fr", **metadata):
    """A question with the answer that the target will give."""
    return Sample(no, question, reference, metadata={"answer": answer, **metadata})


def each(make, replies, **more):
    """One run of a sample for each reply, which the number in its question finds: (reply, scores by name)."""
    several = [sample(question=f"Capital of France, #{n}#?", no=f"{n}", found=["Paris."]) for n in range(len(replies))]
    judgement = judged(make, several, lambda asked: replies[number_of(asked.prompt)], **more)
    return [(reply, judgement.scores[f"{n}"]) for n, reply in enumerate(replies)]


def number_of(prompt):
    """The `n` of a prompt about `#n#`, which holds the texts of no other sample."""
    [number] = set(re.findall(r"#(\d+)#", prompt))
    return int(number)


def judged(make, samples, reply, *, target=answer_of_the_sample, model=None, judge=None, **options):
    """Run `evaluate` with the scorers that `make` gives for a judge on loopback.

    Args:
        make: gets the Judge; a scorer, or a list of them.
        samples: one, or several.
        reply: `reply(asked)`: a text, or bytes as made above.
        target: what is judged.
        model: more of the judge's model (`parameters`).
        judge: more of the Judge (`repeats`, `language`, `parameters`).
        options: of `evaluate`.
    """
    asked = []

    def answer(no, came):
        body = json.loads(came.body)
        asked.append(Asked(no, body["messages"][-1]["content"], body))
        given = reply(asked[-1])
        return given if isinstance(given, bytes) else said(given)

    async def work():
        async with peer(answer) as server:
            made = make(Judge(OpenAICompatible("judge", server.url, **(model or {})), **(judge or {})))
            scorers = made if isinstance(made, list) else [made]
            several = [samples] if isinstance(samples, Sample) else samples
            settings = {"retry": Retry(attempts=1), "fresh": True, "on_broken": "return"} | options
            return await aevaluate(target, several, scorers, **settings)

    run = asyncio.run(work())
    return Judged(run, asked, list(run.records()))
