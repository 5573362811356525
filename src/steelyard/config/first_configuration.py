"""First configurations: for a dataset of one's own, and for text-to-SQL on a database server.

Of a dataset, a prompt that fits its columns, and what is asked and scored; of a server its address, and questions about
its tables.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from steelyard.config.environment import read_dotenv
from steelyard.data.headers import Role, fitting
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, shortened
from steelyard.models.references import REFERENCE
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import language_of
from steelyard.prompts.template import value_at
from steelyard.replies.label import plain_label
from steelyard.session.secrets import Secrets
from steelyard.sql.catalog import ddl_of
from steelyard.sql.results import Database
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.schema import SchemaTable, parse_schema
from steelyard.sql.server_address import Server, is_address
from steelyard.suites.general.rows import GeneralRows, load_general
from steelyard.suites.general.suite import default_name
from steelyard.tables.databases import DatabaseSource, databases_in
from steelyard.types import Sample

_WIDTH: Final = 60
_PROMPT: Final = "prompt.txt"
CONFIGURATION: Final = "general.yaml"
_ASKS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "label": "Answer with only one of these labels: {known}.",
        "json_fields": "Answer with only a JSON object that has these keys: {known}.",
        "exact_match": "Answer with only the answer itself, without a sentence around it.",
    },
    "zh": {
        "label": "只回答下列标签之一：{known}。",
        "json_fields": "只回答一个 JSON 对象，它有这些键：{known}。",
        "exact_match": "只写答案本身，不要写成句子。",
    },
}
"""What a prompt asks for, by the scorer that reads the answer."""


@dataclass(frozen=True, slots=True)
class FirstConfiguration:
    """The files of a first configuration, and what to know of the dataset.

    Args:
        files: name -> text.
        columns: one line per column: its role, its header and its first value.
        notes: on the dataset, and how it is scored.
    """

    files: Mapping[str, str]
    columns: tuple[str, ...]
    notes: tuple[str, ...]


_PASSAGE: Final = Role("passage", required=False)
_UNSCORED: Final = "no expected output and no checks: name its column, --columns expected=COLUMN, or see scorers"


def first_configuration(
    samples: SampleFiles, folder: Path, *, models: Sequence[str] = (), endpoint: str = ""
) -> FirstConfiguration:
    """Write the files for a dataset; nothing is stored or sent.

    Args:
        samples: the dataset; its `columns` are written into the configuration.
        folder: where the files will be; paths are relative to it.
        models: names at the endpoint; without any a stand-in answers, so that the configuration runs at once.
        endpoint: base address of an OpenAI-compatible endpoint.

    Raises:
        ConfigError: models without an endpoint, or an endpoint without models; no column for the input.
        DataError: rows with defects.
    """
    _check_models(models, endpoint)
    rows = load_general(samples)
    scorer, reason = default_name(rows.data.samples)
    scored = f"scored by {scorer}, since {reason}" if scorer else _UNSCORED
    known = _known(scorer, rows.data.samples)
    return FirstConfiguration(
        {
            _PROMPT: _prompt(rows, scorer, known),
            CONFIGURATION: _general_configuration(samples, folder, (models, endpoint), (scorer, scored, known)),
        },
        tuple(_column_lines(rows)),
        (*rows.data.notes, scored),
    )


def _check_models(models: Sequence[str], endpoint: str) -> None:
    if bool(models) != bool(endpoint):
        raise ConfigError("name both the endpoint and the models that it serves: --endpoint URL --model NAME")


def _known(scorer: str, samples: Sequence[Sample]) -> list[str]:
    """The labels, the most frequent first, or the keys of the expected objects."""
    references = [sample.reference for sample in samples]
    if scorer == "label":
        first = {plain_label(label): label for label in reversed(references)}
        return [first[label] for label, _ in Counter(map(plain_label, references)).most_common()]
    if scorer == "json_fields":
        return list(dict.fromkeys(key for reference in references if reference for key in reference))
    return []


def _prompt(rows: GeneralRows, scorer: str, known: Sequence[str]) -> str:
    column = next(header for header, place in rows.places.items() if place == "question")
    language = language_of(*(transcript_of(sample.input) for sample in rows.data.samples[:100]))
    asked = _ASKS[language].get(scorer, "").format(known=("、" if language == "zh" else ", ").join(known))
    values = {place: header for header, place in rows.places.items() if place.startswith(("contexts", "metadata."))}
    passages = fitting({header: header for header in values.values()}, _PASSAGE)
    about = values.get("contexts") or next(map(str, passages), "")
    return "\n\n".join([*([asked] if asked else []), *(f"{{{{{name}}}}}" for name in (about, column) if name)]) + "\n"


def _general_configuration(
    samples: SampleFiles,
    folder: Path,
    asked: tuple[Sequence[str], str],
    scoring: tuple[str, str, Sequence[str]],
) -> str:
    models, endpoint = asked
    scorer, scored, known = scoring
    files = [os.path.relpath(path, folder) for path in samples.paths]
    keys: dict[str, Any] = {"file": files[0] if len(files) == 1 else files}
    keys |= {"columns": dict(samples.columns)} if samples.columns else {}
    lines = ["# Every column is a value that the prompt may use, as {{column}}; several prompts: {name: file or text}."]
    lines += [f"samples: {_written(keys['file'] if len(keys) == 1 else keys)}", f"prompts: {_PROMPT}"]
    if models:
        lines += [f"models: {_written(list(models))}", f"endpoint: {_written(endpoint)}"]
    else:
        answer = known[0] if scorer == "label" else "I do not know."
        lines += [
            "# A stand-in that always says the same. A real model: its name, and the endpoint that serves it.",
            f"models: {{stand-in: {{scripted: {{default: {_written(answer)}}}}}}}",
            "# models: [small, large]",
            '# endpoint: {base_url: "http://127.0.0.1:8000/v1", api_key: "${MY_KEY}"}',
        ]
    lines.append(f"# {scored}" if scorer else "# Nothing is expected, so say what an answer is scored by:")
    lines.append("# scorers: [...]" if scorer else "scorers: [{length: 100}]")
    return "\n".join([*lines, ""])


def _written(value: Any) -> str:
    """A value as YAML on one line; JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


def _column_lines(rows: GeneralRows) -> Iterator[str]:
    first = rows.data.samples[0]
    values = {"question": transcript_of(first.input), "id": first.id, "group": first.group, "metadata": first.metadata}
    shown = {role: _first_value(role, first, values) for role in rows.data.mapping}
    for role, column in rows.data.mapping.items():
        yield f"{role}: {column} = {_short(shown[role])}"
    for place, header in {place: header for header, place in rows.places.items()}.items():
        if place.startswith("metadata."):
            yield f"value: {header} = {_short(value_at(place, values))}"


def _first_value(role: str, sample: Sample, values: Mapping[str, Any]) -> Any:
    if role == "input":
        return values["question"]
    return sample.reference if role == "expected" else getattr(sample, role, sample.metadata.get(role))


def _short(value: Any) -> str:
    return shortened(" ".join((value if isinstance(value, str) else _written(value)).split()), _WIDTH)


SERVER_CONFIGURATION: Final = "text2sql.yaml"
_QUESTIONS: Final = "questions.jsonl"
_MOST_SCHEMAS: Final = 20
_MOST_QUESTIONS: Final = 10
_MOST_TABLES: Final = 100
_TEXTS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "en": {
            "question": "How many rows does the table {table} have?",
            "head": "Questions to a database server. The target below needs no key: steelyard run text2sql.yaml",
            "samples": "Your own questions, each with the SQL that answers it: these here only count rows.",
            "databases": "What the role may read there:",
            "rules": "Writes SQL by rules: a baseline that a model should beat.",
            "model": "A real model: uncomment these lines, and put MODEL_KEY=... into a file .env next to this one.",
            "prompt": "en/sql_query",
        },
        "zh": {
            "question": "表 {table} 有多少行？",
            "head": "向数据库服务器提问。下面的目标不需要密钥：steelyard run text2sql.yaml",
            "samples": "换成您自己的问题，每个问题带有回答它的 SQL；这里的问题只数行数。",
            "databases": "该角色可以读取的表：",
            "rules": "按规则写 SQL：模型应当超过的基线。",
            "model": "真正的模型：取消这几行的注释，并把 MODEL_KEY=... 写入旁边的 .env 文件。",
            "prompt": "zh/sql_query",
        },
    }
)


def server_configuration(
    url: str, folder: Path, *, language: str, models: Sequence[str] = (), endpoint: str = ""
) -> dict[str, str]:
    """Read a server's catalogue, and write the files of a configuration for it; names of files -> texts.

    Args:
        url: of the server, with its password as `${NAME}`; without a database every one that the role may read is used.
        folder: where the files will be; a `.env` there may hold what the environment does not.
        language: of comments, questions and prompt.
        models: names at the endpoint; without any the rule-based baseline is the only target.
        endpoint: base address of an OpenAI-compatible endpoint.

    Raises:
        ConfigError: a password that is written out or has no value, a server that cannot be reached or refuses the
            role, a role that may do more than read, no table, or models without an endpoint.
        DataError: the catalogue cannot be read, or changes all the time.
    """
    _check_models(models, endpoint)
    if not is_address(url):
        # What it is instead may hold a password.
        raise ConfigError("--server: expected the address of a PostgreSQL or MySQL server, in quotes: postgresql://...")
    server = Server(url)
    server.check()
    source: DatabaseSource = {server.database: server} if server.database else url
    names = set(REFERENCE.findall(url))
    try:
        secrets = Secrets(names, {})
    except ConfigError:
        # The environment first, as a run has it.
        secrets = Secrets(names, read_dotenv(folder / ".env") if (folder / ".env").is_file() else {})
    with Sandbox(workers=1, resolve=secrets.resolve) as sandbox:
        sandbox.check_server(server)
        databases_found = databases_in(source, sandbox).items()
        tables = {name: _tables(sandbox, database) for name, database in islice(databases_found, _MOST_SCHEMAS) if name}
    if not any(tables.values()):
        raise ConfigError(f"{server.title}: the role may read no table there; GRANT SELECT ON ... TO it")
    texts = _TEXTS[language]
    databases = {name: {"url": url} for name in source} if isinstance(source, Mapping) else url
    lines = _text2sql_configuration(texts, tables, databases, (models, endpoint))
    return {SERVER_CONFIGURATION: "\n".join([*lines, ""]), _QUESTIONS: _questions(texts, tables, server)}


def _tables(sandbox: Sandbox, database: Database) -> tuple[SchemaTable, ...]:
    return parse_schema(ddl_of(sandbox, database)).tables


def _questions(texts: Mapping[str, str], tables: Mapping[str, Sequence[SchemaTable]], server: Server) -> str:
    mark = "`" if server.engine == "mysql" else '"'
    rows = (
        {
            "id": f"{name}.{table.name}",
            "question": texts["question"].format(table=table.name),
            "sql": f"SELECT COUNT(*) FROM {mark}{table.name.replace(mark, mark * 2)}{mark}",  # noqa: S608  # quoted
            "db_id": name,
        }
        for name, of_database in tables.items()
        for table in of_database
    )
    return "".join(f"{_written(row)}\n" for row in islice(rows, _MOST_QUESTIONS))


def _text2sql_configuration(
    texts: Mapping[str, str],
    tables: Mapping[str, Sequence[SchemaTable]],
    databases: Any,
    asked: tuple[Sequence[str], str],
) -> Iterator[str]:
    models, endpoint = asked
    yield from (f"# {texts['head']}", "", "suite: text2sql", "")
    yield from (f"# {texts['samples']}", f"samples: {{file: {_QUESTIONS}}}", "")
    yield f"# {texts['databases']}"
    for name, of_database in tables.items():
        for table in islice(of_database, _MOST_TABLES):
            columns = ", ".join(column.name for column in table.columns)
            yield f"#     {_comment(name)}: {_comment(table.name)} ({_comment(columns)})"
        if len(of_database) > _MOST_TABLES:
            yield f"#     {_comment(name)}: + {len(of_database) - _MOST_TABLES}"
    yield from (f"databases: {_written(databases)}", "", "targets:")
    yield from (f"  # {texts['rules']}", "  rules: {baseline: rules}")
    for model in models:
        written = {"openai_compatible": {"name": model, "base_url": endpoint}}
        target = {"prompt": {"template": texts["prompt"], "reply": "sql", "model": written}}
        yield f"  {_written(model)}: {_written(target)}"
    if not models:
        yield f"  # {texts['model']}"
        model = '{name: NAME, base_url: "https://HOST/v1", api_key: "${MODEL_KEY}"}'
        prompt = f"{{template: {texts['prompt']}, reply: sql, model: {{openai_compatible: {model}}}}}"
        yield f"  # model: {{prompt: {prompt}}}"


def _comment(text: str) -> str:
    """A name of the catalogue in a comment, which a line break would end."""
    return "".join(character if character.isprintable() else "?" for character in text)
