"""The way of one sample, counted by a profiler: modules of ours that run, and our own frames below the worker.

`python tools/sample_path.py` prints JSON: for three ways of evaluating the modules, and the deepest stack of our own
frames, `run_sample` first. `tools/house.py` shows the counts, and tests/test_architecture.py holds them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import steelyard
from steelyard import ExactMatch, Prompt, Sample, evaluate
from steelyard.config.load import load
from steelyard.evaluation import RunConfig, evaluate_suite
from steelyard.models.scripted import Scripted
from steelyard.runner.runner import Runner

OWN = Path(steelyard.__file__).parent
SAMPLES = [Sample("1", "?", "A"), Sample("2", "?", "A")]


class Watch:
    """Collects modules and the deepest stack while a sample runs."""

    def __init__(self) -> None:
        self.watching = False
        self.modules: set[str] = set()
        self.deepest: list[str] = []

    def profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        """See `sys.setprofile`."""
        if not self.watching or event != "call" or not _is_own(frame):
            return
        self.modules.add(Path(frame.f_code.co_filename).relative_to(OWN).as_posix())
        names, above = [], frame
        while above is not None and above.f_code.co_name != "_worker":
            if _is_own(above):
                names.append(above.f_code.co_qualname)
            above = above.f_back
        if above is not None and len(names) > len(self.deepest):
            self.deepest = names[::-1]


def _is_own(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(str(OWN))


def counted(run: Callable[[], object]) -> dict[str, list[str]]:
    """Modules and the deepest stack of the second sample of `run`.

    What the first sample alone does (imports, caches) is left out.
    """
    watch = Watch()
    original = Runner.run_sample

    async def watched(self: Runner, task: Any) -> Any:
        watch.watching = task.no == 1
        try:
            return await original(self, task)
        finally:
            watch.watching = False

    Runner.run_sample = watched  # type: ignore[method-assign]
    sys.setprofile(watch.profile)
    try:
        run()
    finally:
        sys.setprofile(None)
        Runner.run_sample = original  # type: ignore[method-assign]
    return {"modules": sorted(watch.modules), "deepest": watch.deepest}


def _choice(folder: Path) -> None:
    (folder / "exam.csv").write_text("question,A,B,C,D,answer\nQ1?,a,b,c,d,A\nQ2?,a,b,c,d,A\n", "utf-8")
    (folder / "exam.yaml").write_text(
        "suite: choice\nsamples: {file: exam.csv}\noptions: {concurrency: 1}\n"
        "targets: {t: {prompt: {template: en/four_options, model: {scripted: {default: The answer is A.}}}}}\n",
        "utf-8",
    )
    suite = load(folder / "exam.yaml", environ={}, use_dotenv=False).suite
    evaluate_suite(suite, how=RunConfig(store=folder / "a.db"))


def paths() -> dict[str, dict[str, list[str]]]:
    """For three ways of evaluating: the modules that run for one sample, and the deepest stack."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prompt = Prompt(Scripted({}, "A"))
        options: dict[str, Any] = {"concurrency": 1, "store": folder / "b.db"}
        return {
            "choice suite": counted(lambda: _choice(folder)),
            "prompt and ExactMatch": counted(lambda: evaluate(prompt, SAMPLES, [ExactMatch()], **options)),
            "function and ExactMatch": counted(
                lambda: evaluate(lambda _sample: "A", SAMPLES, [ExactMatch()], **options)
            ),
        }


if __name__ == "__main__":
    print(json.dumps(paths(), indent=1))
