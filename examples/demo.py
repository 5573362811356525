"""What `make demo` does: tickets, exams, SQL, tables, a PDF, preferences, labels, judges, agents; no key or network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "demo"
STEELYARD = Path(sys.executable).with_name("steelyard")


def steelyard(*arguments: str | Path) -> None:
    """Run a command the way a person would, and show it."""
    shown = [Path(one).relative_to(ROOT) if str(one).startswith(str(ROOT)) else one for one in map(str, arguments)]
    print(f"\n$ steelyard {' '.join(map(str, shown))}", flush=True)
    done = subprocess.run([STEELYARD, *arguments], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    """Run the demo into `out/demo`, again each time."""
    shutil.rmtree(OUT, ignore_errors=True)
    general()
    choice()
    small_boats()
    text2sql()
    tables()
    rag()
    pairwise()
    labels()
    judges()
    agents()
    print("\nNext, with a model of yours: look at examples/choice/models.yaml, examples/text2sql/models.yaml,")
    print("examples/rag/rag_with_key.yaml and examples/pairwise/models.yaml, then")
    print("  export ZHIPU_API_KEY=...")
    print("  .venv/bin/steelyard run examples/choice/models.yaml --dry-run     # what it would send")
    print("  .venv/bin/steelyard run examples/choice/models.yaml --html out/models.html")


def general() -> None:
    """Two prompts sort tickets, with a scripted endpoint in place of a model."""
    jobs = OUT / "general"
    shutil.copytree(ROOT / "examples" / "general", jobs)
    print("Support tickets, sorted by a scripted model with two prompts: a CSV, prompts, a model.", flush=True)
    with subprocess.Popen([sys.executable, jobs / "server.py", "0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip() if server.stdout else ""
            job = jobs / "1-classify.yaml"
            job.write_text(job.read_text(encoding="utf-8").replace("http://127.0.0.1:8391/v1", address), "utf-8")
            steelyard("check", jobs / "tickets.csv")
            steelyard("run", job, "--store", OUT / "demo.db", "--html", OUT / "general.html")
        finally:
            server.terminate()


def choice() -> None:
    """Three baselines take the same exam and are compared."""
    store, report = OUT / "demo.db", OUT / "choice.html"
    exam = ROOT / "examples" / "choice" / "exam.yaml"
    print("\nA multiple-choice exam on the Yijing: 140 questions from an Excel sheet, answered without any model by")
    print("chance, by the longest option, and by looking the options up in a knowledge document.")
    steelyard("check", exam)
    steelyard("run", exam, "--store", store, "--html", report)
    steelyard("show", "retrieval", "--store", store)
    steelyard("show", "retrieval", "--only", "wrong", "-n", "2", "--store", store)
    print(f"\nThe report is one file that opens from disk: {report.relative_to(ROOT)}")


def small_boats() -> None:
    """An English exam, some of whose questions have several right answers."""
    store, report = OUT / "demo.db", OUT / "exam_en.html"
    exam = ROOT / "examples" / "exam_en" / "exam.yaml"
    print("\nThe same in English: 72 questions on small boats, with three to six options.")
    steelyard("run", exam, "--store", store, "--html", report)


def text2sql() -> None:
    """A rule-based baseline writes SQL, which is run in a sandbox and compared with the reference's result."""
    store, report = OUT / "demo.db", OUT / "text2sql.html"
    exam = ROOT / "examples" / "text2sql" / "exam.yaml"
    print("\nText to SQL: 66 questions to three small databases, answered by rules.")
    steelyard("run", exam, "--store", store, "--html", report)
    steelyard("show", "rules", "--only", "wrong", "-n", "2", "--store", store)


def rag() -> None:
    """An extractive reader answers questions about a PDF, at two chunk sizes."""
    store, report = OUT / "demo.db", OUT / "rag.html"
    questions = ROOT / "examples" / "rag" / "rag.yaml"
    print("\nQuestions about a document: 80 questions on a handbook of eleven pages, a PDF, answered by the best")
    print("sentence of the two best chunks, which are small for one target and large for the other.")
    steelyard("run", questions, "--store", store, "--html", report)
    steelyard("show", "chunks-512", "--only", "wrong", "-n", "2", "--store", store)


def pairwise() -> None:
    """Two readers answer how-to questions, and a likeness to the reference prefers one of each pair."""
    store, report = OUT / "demo.db", OUT / "pairwise.html"
    duel = ROOT / "examples" / "pairwise" / "pairwise.yaml"
    print("\nWhich is preferred? 70 how-to questions, answered by two readers and judged pair by pair by likeness to a")
    print("reference; then once more, until it is clear what all 70 would say.")
    steelyard("run", duel, "--store", store, "--html", report)
    steelyard("run", duel, "--store", store, "--stop-when-decided", "full")


def labels() -> None:
    """Three raters label answers that a judge has passed, and the judge is held to their labels."""
    store, example = OUT / "labels.db", ROOT / "examples" / "labels"
    print("\nIs the judge right? 120 answers of a support assistant, which a judge passes and three people read.")
    steelyard("run", example / "support.yaml", "--store", store)
    runs = ("support/prompt-1", "support/prompt-2")
    draw = ("--title", "Support", "--author", "lead", "--raters", "3", "--overlap", "0.3", "--seed", "7")
    steelyard("queue", "create", *runs, *draw, "--store", store)
    listed = subprocess.run(
        [STEELYARD, "queue", "list", "--json", "--store", store], cwd=ROOT, check=True, capture_output=True
    )
    queue = json.loads(listed.stdout)[0]["queue"]
    print(f"\n$ python examples/labels/label.py {queue}", flush=True)
    subprocess.run([sys.executable, example / "label.py", queue, "--store", store], cwd=ROOT, check=True)
    steelyard("queue", "show", queue, "--store", store)
    steelyard("agree", runs[1], "--store", store)
    print("\nHow these labels become a better judge: docs/tutorials/labels.md")


def judges() -> None:
    """A judge that passes too much is corrected by labels, and compared with a better one; the truth is known."""
    store, example, report = OUT / "judges.db", ROOT / "examples" / "judges", OUT / "judges.html"
    print(
        "\nHow much is a judge worth? 120 answers, of which 79 were written to be right: 65.8 %. A lenient judge passes"
    )
    print("86.7 %, and its interval leaves the truth out; the one corrected by 80 labelled answers holds it.")
    steelyard("run", example / "support.json", "--store", store)
    draw = ("--draw", "80", "--title", "Could it be sent?", "--author", "lead", "--raters", "3", "--overlap", "0.3")
    steelyard("queue", "create", "assistant", *draw, "--seed", "7", "--store", store)
    listed = subprocess.run(
        [STEELYARD, "queue", "list", "--json", "--store", store], cwd=ROOT, check=True, capture_output=True
    )
    queue = json.loads(listed.stdout)[0]["queue"]
    print(f"\n$ python examples/labels/label.py {queue}", flush=True)
    label = ROOT / "examples" / "labels" / "label.py"
    subprocess.run([sys.executable, label, queue, "--store", store], cwd=ROOT, check=True)
    steelyard("agree", "support-120/assistant", "--store", store)
    print("\nTwo judges on the same answers, and on answers that tell the judge what to say:")
    canary = ("--canary", "0.5", "--seed", "7")
    steelyard("judges", "support-120/assistant", "--judges", example / "judges.json", *canary, "--store", store)
    steelyard("report", "support-120: judges/assistant", "--html", report, "--store", store)


def agents() -> None:
    """Two agents carry out tasks with tools and talk to a simulated user; what each does wrong is known."""
    store, example = OUT / "agents.db", ROOT / "examples" / "agents"
    print("\nTwo agents at the desk of a library: 40 tasks, of which they carry out 37 and 24 with the right calls of")
    print("tools, and 24 conversations with a simulated user, of whose turns 6 of 40 and 26 of 72 promise too much.")
    print("\n$ python examples/agents/desk.py", flush=True)
    subprocess.run([sys.executable, example / "desk.py", store], cwd=ROOT, check=True)
    for suite, report in (("desk: tasks", "agents_tasks.html"), ("desk: conversations", "agents_conversations.html")):
        runs = (f"{suite}/careful", f"{suite}/hasty")
        steelyard("compare", *runs, "--store", store)
        steelyard("report", *runs, "--html", OUT / report, "--store", store)


def tables() -> None:
    """Predicted tables, scored against the wanted ones: in a data frame, and as two runs that are compared."""
    store, example = OUT / "demo.db", ROOT / "examples" / "tables"
    print("\nPredicted tables: five metrics in a data frame, then two systems compared.")
    print("\n$ python examples/tables/score.py", flush=True)
    subprocess.run([sys.executable, example / "score.py"], cwd=ROOT, check=True)
    steelyard("run", example / "tables.yaml", "--store", store, "--html", OUT / "tables.html")


if __name__ == "__main__":
    main()
