"""Write the files of this example: 40 tasks and 24 conversations at the desk of a town's library, all invented.

python examples/agents/build.py
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
TITLES = (
    *(
        "The Salt Road",
        "Winter Bees",
        "A House of Rain",
        "Nine Bridges",
        "The Glass Orchard",
        "Letters to a Lighthouse",
    ),
    *("The Last Ferry", "Small Engines", "The Cartographer's Dog", "Moss and Iron", "Under the Tin Roof", "Blue Hour"),
    *("The Clockmaker's Debt", "Paper Harbour", "A Season of Owls", "The Quiet Mill", "Red Clay", "Night Trains"),
    *("The Beekeeper's Atlas", "Low Tide"),
)
GOALS = (
    "Have {title} kept for you; your card is {card}.",
    "Find out whether {title} is there, and have it kept for you if it is; your card is {card}.",
)


def main() -> None:
    """Write tasks.jsonl and conversations.jsonl."""
    tasks, talks = [], []
    for no in range(40):
        title, book, reader = TITLES[no % 20], f"B{no % 20 + 1:02}", f"R{100 + 7 * no}"
        tools = [{"name": "search", "arguments": {"title": title}}, {"name": "copies", "arguments": {"book": book}}]
        question = f"Is {title} on the shelf?"
        if no >= 20:
            tools.append({"name": "reserve", "arguments": {"book": book, "reader": reader}})
            question = f"Please keep {title} for me, my card is {reader}."
        tasks.append({"id": f"t{no + 1:02}", "question": question, "tools": tools})
    for no in range(24):
        title, card = TITLES[no % 20], f"R{400 + 3 * no}"
        goal = GOALS[no % 2].format(title=title, card=card)
        question = f"Hello, I am looking for {title}." + (f" My card is {card}." if no % 3 == 0 else "")
        talks.append({"id": f"c{no + 1:02}", "question": question, "goal": goal, "card": card})
    for name, rows in (("tasks.jsonl", tasks), ("conversations.jsonl", talks)):
        (HERE / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
