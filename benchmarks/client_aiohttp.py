"""A bare aiohttp loop that writes a line per answer: the floor."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import aiohttp
from benchmarks.questions import questions


async def main(url: str, count: int, concurrency: int, out: Path) -> None:
    feed = questions(count)
    right = 0
    with (out / "answers.jsonl").open("w") as file:  # the floor writes the simplest way
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:

            async def work() -> None:
                nonlocal right
                for ident, prompt, reference in feed:
                    body = {"model": "fast", "messages": [{"role": "user", "content": prompt}]}
                    async with client.post(f"{url}/chat/completions", json=body) as response:
                        text = (await response.json())["choices"][0]["message"]["content"]
                    right += text == reference
                    file.write(json.dumps({"id": ident, "reply": text, "right": text == reference}) + "\n")

            await asyncio.gather(*(work() for _ in range(concurrency)))
    print(f"right {right / count:.2f}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
