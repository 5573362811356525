"""Compares the table rules `qatch-1.0.36` with the release itself, in a virtual environment of its own.

python -m benchmarks.qatch_oracle --build /tmp/qatch                         # installs 1.0.36
python -m benchmarks.qatch_oracle --in /tmp/qatch --count 20000 --seed 3
python -m benchmarks.qatch_oracle --in /tmp/qatch --record tests/tables/oracle/recorded.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.qatch_tables import Pair, decoded, encoded, random_pairs, special_pairs

from steelyard.tables.measure import METRICS, Measure
from steelyard.tables.metrics import table_metrics

HERE = Path(__file__).resolve().parent
RELEASE = "1.0.36"


def build(folder: Path) -> None:
    """Install the release into an environment of its own; it takes about a minute."""
    place = folder / f"q-{RELEASE}"
    venv.create(place, with_pip=True)
    pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"qatch=={RELEASE}"], check=True)


def answers(folder: Path, pairs: Iterable[Any], *options: str) -> list[Any]:
    """What the release says of encoded pairs."""
    command = [folder / f"q-{RELEASE}/bin/python", HERE / "qatch_answers.py", *options]
    lines = "".join(f"{json.dumps(pair)}\n" for pair in pairs)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(pair: Any) -> list[float | str]:
    """What our rules say of an encoded pair, in the oracle's form."""
    found = {}
    for name in (*METRICS, "execution_accuracy"):
        target, prediction = map(decoded, pair)
        found |= table_metrics(target, prediction, rules="qatch-1.0.36", metrics=(name,))
    return [said(measure) for measure in found.values()]


def said(measure: Measure) -> float | str:
    """A value, "nan", or the exception that the reason names."""
    if measure.value is not None:
        return measure.value
    word = measure.reason.rpartition(" ")[2]
    return "nan" if word == "NaN" else word


def differences(folder: Path, pairs: list[Pair]) -> list[str]:
    """Each pair of which we say something else."""
    lines = comparable(pairs)
    found = []
    for line, theirs in zip(lines, answers(folder, lines), strict=True):
        own = ours(line)
        if own != theirs:
            found.append(f"{json.dumps(line)}\n  theirs {theirs}\n  ours   {own}")
    return found


def comparable(pairs: Iterable[Pair]) -> list[Any]:
    """The encoded pairs of which the release says something that counts.

    What it says of a text as a table is left to it, and a prediction of None never reaches its metrics.
    """
    kept = [pair for pair in pairs if pair[1] is not None and not any(isinstance(table, str) for table in pair)]
    return [list(map(encoded, pair)) for pair in kept]


def record(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Pairs with what the release says of them, for the tests."""
    lines = comparable([*special_pairs(), *random_pairs(seed, count)])
    lines = [line for line in lines if len(json.dumps(line)) < 600]
    made = f"python -m benchmarks.qatch_oracle --record FILE --count {count} --seed {seed}"
    return {"made": made, "pairs": list(zip(lines, answers(folder, lines), strict=True))}


def written(recorded: dict[str, Any]) -> str:
    """The record in JSON, one pair a line."""
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in recorded.pop("pairs"))
    return f'{json.dumps(recorded)[:-1]}, "pairs": [\n{rows}\n]}}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=Path, metavar="FOLDER")
    parser.add_argument("--in", dest="folder", type=Path, metavar="FOLDER")
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.build:
        build(options.build)
    elif options.record:
        options.record.write_text(written(record(options.folder, options.count, options.seed)), encoding="utf-8")
    else:
        pairs = [*special_pairs(), *random_pairs(options.seed, options.count)]
        found = differences(options.folder, pairs)
        print(*found[:20], f"{len(found)} of {len(pairs)} pairs differ from {RELEASE}", sep="\n")
        sys.exit(bool(found))


if __name__ == "__main__":
    main()
