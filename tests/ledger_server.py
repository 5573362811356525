"""A server of any provider's API on loopback, in a process of its own, that keeps a ledger of every request.

    python tests/ledger_server.py --port-file port.txt --ledger ledger.jsonl --latency-ms 30 --fault-rate 0.4

The reply and the faults of a prompt depend on the seed and the prompt alone, never on the order of arrival; after
`--max-faults` faults every prompt is answered, as a stream where the request wants one. A line of the ledger is one
request: when it came, when it was answered ("" in `fault`) and whether as a stream (`streams`), or what went wrong on
purpose. A request that came before the wait it was told had passed is `early`.

Two faults depend on the load: with `--pause-after 50` the server answers 50 requests and then tells everybody to wait
once, for `--retry-after` seconds; with `--most-in-flight 3` it refuses what comes while three others are served.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import time
from email.utils import formatdate
from pathlib import Path

if __package__:
    from tests.wires import WIRES, stream_of
else:  # a program of its own
    from wires import WIRES, stream_of

FAULTS = (
    "429", "429s", "429ms", "429date", "500", "503", "529", "drop", "truncated", "malformed", "html", "empty", "hang",
)  # fmt: skip


class Ledger:
    def __init__(self, args):
        self.args = args
        self.file = Path(args.ledger).open("a", buffering=1, encoding="utf-8")  # noqa: SIM115  # open till the end
        self.tried = {}
        self.answered = 0
        self.in_flight = 0
        self.pause_until = 0.0
        self.not_before = {}

    def faults_of(self, prompt):
        draw = random.Random(f"{self.args.seed}:{prompt}")
        faults = []
        while len(faults) < self.args.max_faults and draw.random() < self.args.fault_rate:
            faults.append(draw.choice(self.args.faults.split(",")))
        return faults

    def fault_of_load(self, came):
        """A 429 that every prompt would get now; "" where there is none."""
        if self.args.pause_after and self.answered >= self.args.pause_after:
            self.pause_until = self.pause_until or came + self.args.retry_after
            if came < self.pause_until:
                return "429s"
        return "429" if self.args.most_in_flight and self.in_flight > self.args.most_in_flight else ""

    def answer_of(self, prompt):
        if self.args.judge:
            return self.judged(prompt)
        return random.Random(f"answer:{prompt}").choice("ABCD")

    def judged(self, prompt):
        """A judge that likes a quokka better than a zebra, or a candidate: the first shows quokkas more often."""
        places = prompt.find("quokka"), prompt.find("zebra")
        if max(places) < 0:
            share = 0.75 if "first:" in prompt else 0.4
            return "quokka" if random.Random(f"answer:{prompt}").random() < share else "zebra"
        return "[[C]]" if min(places) < 0 else "[[A]]" if places[0] < places[1] else "[[B]]"

    def note(self, **what):
        self.file.write(json.dumps(what, ensure_ascii=False) + "\n")


def http(status, body, *headers, kind="application/json", length=None):
    head = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {length or len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def completion(reply, wire, *, streams):
    """Body and content type of a reply."""
    return stream_of(wire, reply) if streams else (json.dumps(reply).encode(), "application/json")


def faulty(fault, wait, wire, *, streams):
    error = json.dumps({"error": {"message": f"on purpose: {fault}"}}).encode()
    whole, kind = completion(WIRES[wire][1]("A"), wire, streams=streams)
    empty, _ = completion(WIRES[wire][2], wire, streams=streams)
    return {
        "429": lambda: http(429, error),
        "429s": lambda: http(429, error, f"Retry-After: {wait:g}"),
        "429ms": lambda: http(429, error, f"retry-after-ms: {wait * 1000:.0f}"),
        "429date": lambda: http(429, error, f"Retry-After: {formatdate(time.time() + wait + 1, usegmt=True)}"),
        "truncated": lambda: http(200, whole[: len(whole) // 2], kind=kind, length=len(whole)),
        "malformed": lambda: http(200, whole[: len(whole) // 2], kind=kind),
        "html": lambda: http(200, b"<html>sign in</html>", kind="text/html"),
        "empty": lambda: http(200, empty, kind=kind),
    }.get(fault, lambda: http(int(fault), error))()


async def serve_one(ledger, reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    if head.startswith(b"GET /ledger "):  # what was answered before is in the ledger by now
        writer.write(http(200, json.dumps({"in_flight": ledger.in_flight}).encode()))
        return False
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    asked = json.loads(await reader.readexactly(length))
    came = time.time()
    streams = bool(asked.get("stream")) or b":streamGenerateContent" in head
    prompt = WIRES[ledger.args.wire][0](asked)
    attempt = ledger.tried.get(prompt, 0)
    ledger.tried[prompt] = attempt + 1
    early = came < ledger.not_before.get(prompt, 0)
    faults = ledger.faults_of(prompt)
    ledger.in_flight += 1
    fault = ledger.fault_of_load(came) or (faults[attempt] if attempt < len(faults) else "")
    await asyncio.sleep(0 if fault == "429" else ledger.args.latency_ms / 1000)
    ledger.in_flight -= 1
    ledger.answered += not fault
    ledger.not_before[prompt] = time.time() + (ledger.args.retry_after if fault in {"429s", "429ms", "429date"} else 0)
    if fault == "hang":
        ledger.note(prompt=prompt, came=came, fault=fault, early=early)
        await reader.read()
        return False
    if fault == "drop":
        ledger.note(prompt=prompt, came=came, fault=fault, early=early)
        return False
    wire = ledger.args.wire
    body, kind = completion(WIRES[wire][1](ledger.answer_of(prompt)), wire, streams=streams)
    answer = faulty(fault, ledger.args.retry_after, wire, streams=streams) if fault else http(200, body, kind=kind)
    writer.write(answer)
    await writer.drain()
    ledger.note(prompt=prompt, came=came, sent=time.time(), fault=fault, early=early, streams=streams)
    return fault != "truncated"


def announce(path, port):
    ready = Path(path + ".new")
    ready.write_text(str(port))
    ready.rename(path)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--ledger", required=True)
    parser.add_argument("--wire", choices=WIRES, default="openai_compatible")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--fault-rate", type=float, default=0)
    parser.add_argument("--max-faults", type=int, default=4)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--retry-after", type=float, default=0.3)
    parser.add_argument("--pause-after", type=int, default=0)
    parser.add_argument("--most-in-flight", type=int, default=0)
    parser.add_argument("--judge", action="store_true")
    ledger = Ledger(parser.parse_args())

    async def connected(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await serve_one(ledger, reader, writer):
                pass
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
    announce(ledger.args.port_file, server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
