"""What the documents say is there is there, what is there is documented, and every example runs."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import textwrap
import tomllib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from tools.command_reference import commands_by_name, page

import steelyard.stats
from steelyard import Output, Record, Sample
from steelyard.cli.app import build_app
from steelyard.config.conversion.exam_script import convert
from steelyard.config.load import load
from steelyard.registry import built_in_classes, names
from steelyard.replies.judge_reply import Scale
from steelyard.replies.rating import read_rating
from steelyard.replies.yes_no import read_yes_no
from steelyard.report.exports.records import legacy_rows
from steelyard.report.run_texts import outcome_word

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
HOW_TO, REFERENCE, EXPLANATION = DOCS / "how-to", DOCS / "reference", DOCS / "explanation"
AT_THE_ROOT = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")]
PAGES = sorted([*AT_THE_ROOT, *DOCS.rglob("*.md"), *ROOT.glob("examples/**/*.md")])
WITH_PYTHON = [
    *(
        DOCS / f"{name}.md"
        for name in (
            "explanation/agreement",
            "how-to/error-analysis",
            "tutorials/getting-started",
            "how-to/agents",
            "how-to/judges",
            "reference/lexical",
            "how-to/pairwise",
            "how-to/python",
            "how-to/rag",
            "explanation/statistics",
            "how-to/text2sql",
            "how-to/from-qatch",
        )
    )
]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(path):
    return path.read_text(encoding="utf-8")


def short(path):
    return path.relative_to(ROOT).as_posix()


def blocks(path, language):
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text_of(path), re.DOTALL | re.MULTILINE)


@cache
def commands():
    return commands_by_name(typer.main.get_command(build_app()))


def test_the_page_of_the_command_line_is_what_the_commands_say():
    written = text_of(REFERENCE / "command-line.md")
    assert written == page(), "python -m tools.command_reference > docs/reference/command-line.md"


def test_the_page_on_promptfoo_says_what_becomes_of_each_assertion():
    page_lines = text_of(DOCS / "how-to/from-promptfoo.md").splitlines()
    rules = json.loads(text_of(ROOT / "src/steelyard/config/conversion/promptfoo_assertions.json"))
    for kind, rule in rules.items():
        (line,) = [line for line in page_lines if line.startswith(f"| `{kind}` |")]
        assert rule.get("instead", rule.get("deviation", "")) in line


def test_the_page_on_exams_shows_what_convert_and_json_dir_write():
    page = text_of(HOW_TO / "exams.md")
    old, row = map(json.loads, blocks(HOW_TO / "exams.md", "json"))
    written = re.search(r"^    suite: choice\n(?:(?:    .*)?\n)+", page, re.MULTILINE).group()
    assert textwrap.dedent(written).strip() in convert(old, "old.json")
    sample = Sample("1", "乾？", "A", choices=("天", "地"), group="卦象")
    assert legacy_rows([Record(sample, Output("选A"))]) == [row]


@pytest.mark.parametrize("name", list(commands()))
def test_every_command_option_and_argument_is_documented(name):
    section = text_of(REFERENCE / "command-line.md").split(f"## steelyard {name}", 1)[1].split("\n## ", 1)[0]
    assert len(commands()[name].help) > 20
    for parameter in commands()[name].params:
        assert len(parameter.help) > 10, parameter.name
        spellings = [*parameter.opts, *parameter.secondary_opts] if parameter.param_type_name == "option" else []
        for option in spellings:
            assert f"`{option}`" in section


@pytest.mark.parametrize("kind", list(built_in_classes()))
def test_every_registered_name_is_on_a_page_that_a_person_wrote(kind):
    """What is generated has each anyway."""
    told = "\n".join(text_of(page) for page in PAGES if REFERENCE / "configuration" not in page.parents)
    missing = [name for name in names(kind) if not re.search(rf"\b{name}\b", told)]
    assert missing == [], "say on a page of docs/ what each is for, such as docs/reference/lexical.md for a scorer"


WHOLE = [
    pytest.param(block, id=f"{short(path)}-{at}")
    for path in PAGES
    for at, block in enumerate(blocks(path, "yaml"))
    if re.search(r"^suite:", block, re.MULTILINE)
]


def test_there_are_configurations_in_the_documents():
    assert len(WHOLE) >= 5


@pytest.mark.parametrize("block", WHOLE)
def test_every_whole_configuration_in_the_documents_loads(block, tmp_path):
    exam, quiz = ROOT / "examples/choice", ROOT / "src/steelyard/config/starter/en/choice"
    for name in ("zhouyi.xlsx", "exam.xlsx", "my_exam.xlsx"):
        shutil.copy(exam / "zhouyi.xlsx", tmp_path / name)
    for source, name in (
        (exam / "zhouyi.md", "zhouyi.md"),
        (quiz / "notes.md", "notes.md"),
        (quiz / "questions.csv", "questions.csv"),
        (ROOT / "examples/rag/handbook.pdf", "handbook.pdf"),
        (ROOT / "examples/rag/questions.jsonl", "questions.jsonl"),
        (ROOT / "examples/text2sql/questions.json", "questions.json"),
    ):
        shutil.copy(source, tmp_path / name)
    shutil.copytree(ROOT / "examples/text2sql/databases", tmp_path / "databases")
    (tmp_path / "exam.yaml").write_text(block, encoding="utf-8")
    keys = dict.fromkeys(re.findall(r"\$\{(\w+)\}", block), "not-a-real-key")
    suite = load(tmp_path / "exam.yaml", environ=keys, use_dotenv=False).suite
    assert suite.targets
    assert len(list(suite.samples)) >= 20


def test_the_scorers_that_take_words_of_ones_own_load(tmp_path):
    shutil.copy(ROOT / "examples/rag/questions.jsonl", tmp_path / "questions.jsonl")
    (block,) = [one for one in blocks(HOW_TO / "judges.md", "yaml") if not re.search(r"^suite:", one, re.MULTILINE)]
    rest = "suite: rag\nsamples: {file: questions.jsonl}\njudge: {model: {scripted: {}}}\n"
    (tmp_path / "rag.yaml").write_text(f"{rest}targets: {{top: {{baseline: reference}}}}\n{block}", encoding="utf-8")
    suite = load(tmp_path / "rag.yaml", environ={}, use_dotenv=False).suite
    assert [scorer.score_infos[0].name for scorer in suite.scorers] == [
        "house_style",
        "tone",
        "coherence",
        "wrong_policy",
        "apology",
    ]


def replies_read(head):
    """(reply, what it is read as) of a table on the page about judges."""
    table = text_of(HOW_TO / "judges.md").split(f"| {head} | read as |\n", 1)[1].split("\n\n", 1)[0]
    for row in table.splitlines()[1:]:
        replies, wanted = row.strip("| ").rsplit(" | ", 1)
        for reply in re.findall(r"`([^`]+)`", replies):
            yield pytest.param(reply.replace("\\n", "\n"), wanted, id=reply)


def as_told(verdict):
    if verdict.outcome != "scored":
        return ", ".join(filter(None, (outcome_word(verdict.outcome), verdict.kind)))
    return verdict.label or f"{verdict.value:g}"


@pytest.mark.parametrize(("reply", "wanted"), list(replies_read("reply, on a scale from 1 to 5")))
def test_the_page_on_judges_tells_how_a_rating_is_read(reply, wanted):
    assert as_told(read_rating(reply, Scale(1, 5))) == wanted


@pytest.mark.parametrize(("reply", "wanted"), list(replies_read("reply, yes or no")))
def test_the_page_on_judges_tells_how_yes_and_no_are_read(reply, wanted):
    assert as_told(read_yes_no(reply)) == wanted


@pytest.mark.parametrize("path", WITH_PYTHON, ids=short)
def test_the_python_examples_run_and_print_what_they_say(path):
    Path("examples").symlink_to(ROOT / "examples")
    namespace = {"__name__": "documents"}
    for block in blocks(path, "python"):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, short(path), "exec"), namespace)
        lines = iter(printed.getvalue().splitlines())
        for expected in re.findall(r"print\(.*\)  # (.+)", block):
            begins = re.compile(rf"{re.escape(expected)}(?![\w.])")
            assert any(begins.match(line) for line in lines), f"no further line is {expected!r}:\n{printed.getvalue()}"


def test_the_examples_show_every_public_function():
    told = text_of(HOW_TO / "python.md")
    functions = "evaluate aevaluate evaluate_suite compare to_frame"
    classes = "Sample Output Score Prompt Scripted Baseline Choice ExactMatch Options Suite Store SteelyardError"
    for name in f"{functions} {classes}".split():
        assert re.search(rf"\b{name}\b", told), name


FROM_MODULES = {
    "steelyard.prompts.template",
    "steelyard.replies.choice",
    "steelyard.replies.judge_reply",
    "steelyard.replies.yes_no",
    "steelyard.replies.rating",
}
"""What python.md excepts from the namespaces: readers of replies, and the packaged prompts."""


def imports_shown():
    """(page, module, names) of each import of ours on a page, but for what happened and what was decided."""
    for path in PAGES:
        if path.is_relative_to(DOCS / "decisions") or path.name == "CHANGELOG.md" or path.is_relative_to(EXAMPLES):
            continue
        for module, listed in re.findall(r"from (steelyard[\w.]*) import ([\w, ]+)", text_of(path)):
            if module not in FROM_MODULES and module != "steelyard.pytest_plugin":
                yield path, module, listed


def test_names_are_imported_from_the_root_or_the_namespace_of_their_kind():
    shown = list(imports_shown())
    assert len(shown) > 20
    for path, module, listed in shown:
        assert module.count(".") <= 1, f"{short(path)}: {module} is not a namespace"
        namespace = import_module(module)
        for name in listed.split(" as ")[0].replace(" ", "").split(","):
            assert name in getattr(namespace, "__all__", ()) or find_spec(f"{module}.{name}"), (
                short(path),
                module,
                name,
            )


def test_every_public_statistic_is_on_a_page():
    pages = " ".join(text_of(path) for path in DOCS.rglob("*.md"))
    assert [name for name in steelyard.stats.__all__ if f"`{name}`" not in pages] == []


@cache
def anchors(path):
    """The places of a page that a link may lead to."""
    heads = re.findall(r"^#+ (.+)$", text_of(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def fault_of_link(path, link):
    """Why a relative link leads nowhere; "" where it leads somewhere."""
    target, _, anchor = link.partition("#")
    found = (path.parent / target).resolve() if target else path
    if not found.exists():
        return "is not there"
    if path.is_relative_to(DOCS) and not found.is_relative_to(DOCS):
        return "is not in the built site"
    return "has no such heading" if anchor and found.suffix == ".md" and anchor not in anchors(found) else ""


def test_every_relative_link_leads_somewhere():
    links = [(path, link) for path in PAGES for link in LINK.findall(text_of(path)) if not re.match(r"[a-z]+:", link)]
    assert len(links) > 500
    faults = [(short(path), link, fault_of_link(path, link)) for path, link in links]
    assert [fault for fault in faults if fault[-1]] == []


def pages_of_the_menu(entries):
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from pages_of_the_menu([below] if isinstance(below, str) else below)


def test_every_page_is_in_the_index_and_in_the_menu_of_the_site():
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"index.md"}
    decisions = {link.removeprefix("../") for link in LINK.findall(text_of(EXPLANATION / "decisions.md"))}
    assert written - set(LINK.findall(text_of(DOCS / "index.md"))) - decisions == set()
    menu = list(pages_of_the_menu(tomllib.loads(text_of(ROOT / "zensical.toml"))["project"]["nav"]))
    assert len(menu) == len(set(menu))
    assert set(menu) == {name for name in written if not name.startswith("decisions/")} | {"index.md"}


def test_the_page_on_the_architecture_names_what_is_there():
    page = text_of(EXPLANATION / "architecture.md")
    source = ROOT / "src" / "steelyard"
    packages = {path.name for path in source.iterdir() if (path / "__init__.py").exists()}
    rows = [line for line in page.splitlines() if re.match(r"\| \d+ \|", line)]
    named = {name for row in rows for name in re.findall(r"`([a-z_0-9]+)`", row.split("|")[2])}
    assert named == packages
    files = set(re.findall(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)`", page))
    assert len(files) > 10
    assert [name for name in sorted(files) if not ((source / name).exists() or (ROOT / name).exists())] == []


def test_the_architecture_is_one_screen_with_the_layers_that_the_imports_are_held_to():
    page = text_of(ROOT / "ARCHITECTURE.md")
    assert len(page.splitlines()) <= 60
    contracts = tomllib.loads(text_of(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    held = [re.findall(r"steelyard\.(\w+)", layer) for layer in layers]
    shown = page[page.index("## The layers") :].split("\n\n")[2]
    assert [line.strip().split(", ") for line in shown.splitlines()] == held
    files = re.findall(r"[\w/]+\.py", page)
    assert len(files) > 10
    assert [name for name in files if not ((ROOT / "src/steelyard" / name).exists() or (ROOT / name).exists())] == []


def test_every_test_that_the_contract_names_is_there():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of(REFERENCE / "contract.md"))
    assert len(named) >= 20
    for path, test in named:
        assert f"def {test}(" in text_of(ROOT / path), f"{path}::{test}"


def test_every_decision_says_context_decision_and_what_was_rejected():
    decisions = sorted((DOCS / "decisions").iterdir())
    assert len(decisions) >= 12
    packages = {path.parent.name for path in (ROOT / "src" / "steelyard").glob("*/__init__.py")}
    for path in decisions:
        told = text_of(path)
        assert told.startswith("# ")
        assert [part in told for part in ("**Context.**", "**Decision.**", "**Rejected.**")] == [True] * 3
        assert path.name.split("-")[0] in packages, f"{path.name} begins with no package of the source"
        assert f"../decisions/{path.name}" in text_of(EXPLANATION / "decisions.md")


def test_the_code_that_a_decision_explains_names_it():
    sources = " ".join(text_of(path) for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"docs/decisions/([\w-]+\.md)", sources))
    assert named == {path.name for path in (DOCS / "decisions").iterdir()}


def test_the_changelog_says_what_this_version_can_do_and_cannot():
    version = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["version"]
    told = text_of(ROOT / "CHANGELOG.md")
    section = told[told.index(f"\n## [{version}]") :]
    heads = re.findall(r"^### (.+)$", section, re.MULTILINE)
    assert heads[0] == "Added"
    assert "Known limits" in heads
    assert [name for name in names("suite") if f"- `{name}`" not in section] == []


def test_the_readme_opens_with_demo_and_test():
    lines = [line.strip() for line in text_of(ROOT / "README.md").splitlines() if line.strip()]
    assert lines[1].startswith("make demo")
    assert lines[2].startswith("make test")


def test_the_readme_fits_a_screen_and_the_first_page_of_the_site_has_no_decisions():
    assert len(text_of(ROOT / "README.md").splitlines()) <= 60
    assert "decisions/" not in text_of(DOCS / "index.md")


def test_the_exit_codes_are_told_in_the_reference():
    codes = set(re.findall(r"^\| (\d+) \|", text_of(REFERENCE / "command-line.md"), re.MULTILINE))
    assert codes == {"0", "1", "2", "3", "4", "130"}
