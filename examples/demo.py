"""What `make demo` does: tickets, an exam, SQL, tables, a PDF, preferences, labels, agents; no key or network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("out") / "demo"
STORE = OUT / "demo.db"
EXAMPLES = Path("examples")
STEELYARD = Path(sys.executable).with_name("steelyard")


def shown(program: str | Path, *arguments: str | Path, name: str = "steelyard", most: int = 12) -> None:
    """Run a command the way a person would, and show it with the first lines that it prints."""
    print(f"\n$ {name} {' '.join(map(str, arguments))}", flush=True)
    done = subprocess.run([program, *arguments], cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    for line in [*lines[:most], *(["..."] if 0 < most < len(lines) else [])]:
        print(line, flush=True)
    if done.returncode:
        sys.exit(done.returncode)


def steelyard(*arguments: str | Path, most: int = 12) -> None:
    """A command of Steelyard on the demo's store, in which all runs are."""
    shown(STEELYARD, *arguments, "--store", STORE, most=most)


def run(config: Path, *options: str | Path) -> None:
    """Evaluate a configuration."""
    steelyard("run", config, *options, "--quiet")


def main() -> None:
    """Run the demo into `out/demo`, again each time."""
    shutil.rmtree(ROOT / OUT, ignore_errors=True)
    for part in (general, choice, text2sql, tables, rag, pairwise, judges, agents):
        part()
    print(
        "\nWith a model of yours: the models.yaml in examples/choice, text2sql and pairwise. All of this in a browser:"
    )
    print(f"  .venv/bin/steelyard view --store {STORE}")


def general() -> None:
    """Two prompts sort tickets, with a scripted endpoint in place of a model."""
    jobs = ROOT / OUT / "general"
    shutil.copytree(ROOT / EXAMPLES / "general", jobs)
    print("Support tickets, sorted by a scripted model with two prompts: a CSV, prompts, a model.", flush=True)
    with subprocess.Popen([sys.executable, jobs / "server.py", "0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip() if server.stdout else ""
            job = jobs / "1-classify.yaml"
            job.write_text(job.read_text(encoding="utf-8").replace("http://127.0.0.1:8391/v1", address), "utf-8")
            run(OUT / "general" / job.name)
        finally:
            server.terminate()


def choice() -> None:
    """Three baselines take the same exam and are compared."""
    print("\nAn exam on the Yijing: 140 questions, answered by chance, by length, and from a document.", flush=True)
    run(EXAMPLES / "choice" / "exam.yaml")
    steelyard("compare", "random", "retrieval")


def text2sql() -> None:
    """A rule-based baseline writes SQL, which is run in a sandbox and compared with the reference's result."""
    print("\nText to SQL: 66 questions to three small databases, answered by rules.", flush=True)
    run(EXAMPLES / "text2sql" / "exam.yaml")


def rag() -> None:
    """An extractive reader answers questions about a PDF, at two chunk sizes."""
    print("\n80 questions on a handbook, a PDF, answered by the best sentence of small or large chunks.", flush=True)
    run(EXAMPLES / "rag" / "rag.yaml")


def pairwise() -> None:
    """Two readers answer how-to questions, and a likeness to the reference prefers one of each pair."""
    print("\nWhich is preferred? 70 answers of two readers, until it is clear what all 70 would say.", flush=True)
    run(EXAMPLES / "pairwise" / "pairwise.yaml", "--stop-when-decided", "full")


def labelled(*runs: str, title: str, draw: tuple[str, ...] = ()) -> None:
    """Records of runs, labelled by three raters in a queue."""
    options = (*draw, "--title", title, "--author", "lead", "--raters", "3", "--overlap", "0.3", "--seed", "7")
    steelyard("queue", "create", *runs, *options, most=1)
    listing = (STEELYARD, "queue", "list", "--json", "--store", STORE)
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True)
    queue = json.loads(listed.stdout)[0]["queue"]
    script = EXAMPLES / "labels" / "label.py"
    shown(sys.executable, script, queue, "--store", STORE, name="python", most=1)


def judges() -> None:
    """A judge passes too much. Labels of three people correct it, and a better one is found; the truth is known."""
    print("\nHow much is a judge worth? Of 120 answers 65.8 % were written to be right; a lenient judge passes 86.7 %.")
    run(EXAMPLES / "labels" / "support.yaml")
    run(EXAMPLES / "judges" / "support.json")
    labelled("support-120/assistant", title="Could it be sent?", draw=("--draw", "80"))
    steelyard("agree", "support-120/assistant", most=4)
    compared = ("--judges", EXAMPLES / "judges" / "judges.json", "--canary", "0.5", "--seed", "7", "--quiet")
    steelyard("judges", "support-120/assistant", *compared, most=8)


def agents() -> None:
    """Two agents carry out tasks with tools and talk to a simulated user; what each does wrong is known."""
    print("\nTwo agents at the desk of a library: 40 tasks, and 24 conversations with a simulated user.", flush=True)
    shown(sys.executable, EXAMPLES / "agents" / "desk.py", STORE, name="python", most=0)
    steelyard("compare", "desk: tasks/careful", "desk: tasks/hasty")


def tables() -> None:
    """Predicted tables, scored against the wanted ones: in a data frame, and as two runs that are compared."""
    print("\nPredicted tables: five metrics in a data frame, then two systems compared.", flush=True)
    shown(sys.executable, EXAMPLES / "tables" / "score.py", name="python", most=6)
    run(EXAMPLES / "tables" / "tables.yaml")


if __name__ == "__main__":
    main()
