"""A first text-to-SQL configuration for a database server: its address, and questions about its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from steelyard.config.environment import read_dotenv
from steelyard.errors import ConfigError
from steelyard.models.references import REFERENCE
from steelyard.session.secrets import Secrets
from steelyard.sql.catalog import ddl_of
from steelyard.sql.results import Database
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.schema import SchemaTable, parse_schema
from steelyard.sql.server_address import Server, is_address
from steelyard.tables.databases import DatabaseSource, databases_in

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
    if bool(models) != bool(endpoint):
        raise ConfigError("name both the endpoint and the models that it serves: --endpoint URL --model NAME")
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
        found = databases_in(source, sandbox).items()
        tables = {name: _tables(sandbox, database) for name, database in islice(found, _MOST_SCHEMAS) if name}
    if not any(tables.values()):
        raise ConfigError(f"{server.title}: the role may read no table there; GRANT SELECT ON ... TO it")
    texts = _TEXTS[language]
    databases = {name: {"url": url} for name in source} if isinstance(source, Mapping) else url
    lines = _configuration(texts, tables, databases, (models, endpoint))
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


def _configuration(
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


def _written(value: Any) -> str:
    """A value as YAML on one line; JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)
