"""Compares the table rules `qatch-...` with the releases themselves, each in a virtual environment of its own.

python -m benchmarks.qatch_oracle --build /tmp/qatch                         # installs 0.2.2, 0.2.5 and 1.0.36
python -m benchmarks.qatch_oracle --in /tmp/qatch --against 1.0.36 --count 20000 --seed 3
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
RELEASES = ("0.2.2", "0.2.5", "1.0.36")
OLD_NEEDS = ("numpy<2", "pandas<2.3", "sqlalchemy", "tqdm")
"""What the metrics of 0.2 import; the models they name besides are not needed for them."""


def build(folder: Path, releases: Iterable[str] = RELEASES) -> None:
    """Install each release into an environment of its own; 1.0.36 takes about a minute."""
    for release in releases:
        place = folder / f"q-{release}"
        venv.create(place, with_pip=True)
        pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        old = release.startswith("0.2")
        subprocess.run([*pip, *(["--no-deps"] if old else []), f"qatch=={release}"], check=True)
        if old:
            subprocess.run([*pip, *OLD_NEEDS], check=True)


def answers(folder: Path, release: str, pairs: Iterable[Any], *options: str) -> list[Any]:
    """What a release says of encoded pairs."""
    command = [folder / f"q-{release}/bin/python", HERE / "qatch_answers.py", *options]
    lines = "".join(f"{json.dumps(pair)}\n" for pair in pairs)
    new = [] if release.startswith("0.2") else ["--new"]
    done = subprocess.run([*command, *new], input=lines, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(release: str, pair: Any) -> list[float | str]:
    """What our rules say of an encoded pair, in the oracle's form."""
    target, prediction, executed = pair
    names = METRICS if release.startswith("0.2") else (*METRICS, "execution_accuracy")
    found = {}
    for name in names:
        tables = decoded(target), decoded(prediction)
        rules: Any = f"qatch-{release}"
        found |= table_metrics(*tables, rules=rules, metrics=(name,), executed=executed)
    return [said(measure) for measure in found.values()]


def said(measure: Measure) -> float | str:
    """A value, "nan", or the exception that the reason names."""
    if measure.value is not None:
        return measure.value
    word = measure.reason.rpartition(" ")[2]
    return "nan" if word == "NaN" else word


def differences(folder: Path, release: str, pairs: list[Pair]) -> list[str]:
    """Each pair of which we say something else."""
    lines = [[encoded(target), encoded(prediction), executed] for target, prediction, executed in pairs]
    found = []
    for line, theirs in zip(lines, answers(folder, release, lines), strict=True):
        own = ours(release, line)
        if own != theirs and not _meaningless(release, line):
            found.append(f"{json.dumps(line)}\n  theirs {theirs}\n  ours   {own}")
    return found


def _meaningless(release: str, pair: Any) -> bool:
    """What 1.0.36 says of a text as a table is left to it, and a prediction of None never reaches its metrics."""
    return release == "1.0.36" and (pair[1] is None or any(isinstance(table, str) for table in pair[:2]))


def record(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Pairs with what each release says of them, for the tests."""
    pairs = [*special_pairs(), *random_pairs(seed, count)]
    lines = [[encoded(target), encoded(prediction), executed] for target, prediction, executed in pairs]
    lines = [line for line in lines if len(json.dumps(line)) < 600]
    said_by = [answers(folder, release, lines) for release in RELEASES]
    made = f"python -m benchmarks.qatch_oracle --record FILE --count {count} --seed {seed}"
    rows = [
        [line, [None if _meaningless(release, line) else one for release, one in zip(RELEASES, said, strict=True)]]
        for line, *said in zip(lines, *said_by, strict=True)
    ]
    return {"made": made, "releases": RELEASES, "pairs": rows}


def written(recorded: dict[str, Any]) -> str:
    """The record in JSON, one pair a line."""
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in recorded.pop("pairs"))
    return f'{json.dumps(recorded)[:-1]}, "pairs": [\n{rows}\n]}}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=Path, metavar="FOLDER")
    parser.add_argument("--in", dest="folder", type=Path, metavar="FOLDER")
    parser.add_argument("--against", choices=RELEASES)
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
        found = differences(options.folder, options.against, pairs)
        print(*found[:20], f"{len(found)} of {len(pairs)} pairs differ from {options.against}", sep="\n")
        sys.exit(bool(found))


if __name__ == "__main__":
    main()
