"""A bare loop over AsyncOpenAI that writes a line per answer: what many people write by hand."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from benchmarks.questions import questions
from openai import AsyncOpenAI


async def main(url: str, count: int, concurrency: int, out: Path) -> None:
    feed = questions(count)
    right = 0
    client = AsyncOpenAI(base_url=url, api_key="none")
    with (out / "answers.jsonl").open("w") as file:  # written the simplest way

        async def work() -> None:
            nonlocal right
            for ident, prompt, reference in feed:
                reply = await client.chat.completions.create(
                    model="fast", messages=[{"role": "user", "content": prompt}]
                )
                text = reply.choices[0].message.content
                right += text == reference
                file.write(json.dumps({"id": ident, "reply": text, "right": text == reference}) + "\n")

        await asyncio.gather(*(work() for _ in range(concurrency)))
    print(f"right {right / count:.2f}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
