"""What `make demo` does: the Yijing exam with three baselines, compared, with a report; no model, key or network."""

from __future__ import annotations

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
    """Run the demo into `out/demo`, anew each time."""
    shutil.rmtree(OUT, ignore_errors=True)
    store, report = OUT / "demo.db", OUT / "choice.html"
    exam = ROOT / "examples" / "choice" / "exam.yaml"
    print("A multiple-choice exam on the Yijing: 140 questions from an Excel sheet, answered without any model by")
    print("chance, by the longest option, and by looking the options up in a knowledge document.")
    steelyard("check", exam)
    steelyard("run", exam, "--store", store, "--html", report)
    steelyard("show", "retrieval", "--store", store)
    steelyard("show", "retrieval", "--only", "wrong", "-n", "2", "--store", store)
    print(f"\nThe report is one file that opens from disk: {report.relative_to(ROOT)}")
    print("\nNext, with a model of yours: look at examples/choice/models.yaml, set its key, and")
    print("  export ZHIPU_API_KEY=...")
    print("  .venv/bin/steelyard run examples/choice/models.yaml --dry-run     # what it would send")
    print("  .venv/bin/steelyard run examples/choice/models.yaml --html out/models.html")


if __name__ == "__main__":
    main()
