"""Cuts dumps of MySQL, PostgreSQL and SQL Server into statements, in linear time.

Each vendor ends and quotes in its own way: `/*!50001 ... */` is run by MySQL, the rows of COPY follow their statement
in PostgreSQL, and SQL Server needs no `;` and ends a batch with a line GO.
"""

# Why it is so, and what was rejected: docs/decisions/sql-vendor-schemas.md

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Vendor = Literal["mysql", "postgres", "tsql"]

_SEARCHED: Final = 200_000
"""Characters from the start in which the marks of a vendor are looked for."""
_MARKS: Final[Mapping[Vendor, re.Pattern[str]]] = MappingProxyType(
    {
        "mysql": re.compile(
            r"\)\s*ENGINE\s*=|\bAUTO_INCREMENT\b|/\*!\d{5}|\)\s*DEFAULT\s+CHARSET|\bCHARACTER SET\b"
            r"|\bON UPDATE CURRENT_T|\bint(?:\(\d+\))?\s+unsigned\b|\benum\s*\('",
            re.IGNORECASE,
        ),
        "postgres": re.compile(
            r"\bFROM\s+stdin\s*;|\bALTER TABLE ONLY\b|\bcharacter varying\b|\b(?:big)?serial\b|\bpg_catalog\.|\bjsonb\b"
            r"|\bwith(?:out)? time zone\b|::\s*\w|\bbytea\b|\bCREATE TYPE \S+ AS ENUM\b"
            r"|\bPARTITION\s+OF\s|\)\s*INHERITS\s*\(",
            re.IGNORECASE,
        ),
        "tsql": re.compile(
            r"^[ \t]*GO[ \t]*\r?$|\[dbo\]\.|\bIDENTITY\s*\(\s*\d|\bnvarchar\b|\bCLUSTERED\b|\bON\s+\[PRIMARY\]"
            r"|\buniqueidentifier\b|\bdatetime2\b|\bN'",
            re.IGNORECASE | re.MULTILINE,
        ),
    }
)
_REST: Final = r"|(?P<end>;)|(?P<open>\()|(?P<close>\))|(?P<other>\w++|[ \t\r]++|.)"
_FLAGS: Final = re.VERBOSE | re.DOTALL | re.IGNORECASE | re.MULTILINE
_TOKENS: Final[Mapping[Vendor, re.Pattern[str]]] = MappingProxyType(
    {
        "mysql": re.compile(
            r"""(?P<skip>--(?=\s)[^\n]*+|\#[^\n]*+|/\*(?!!).*?(?:\*/|\Z)|/\*!\d*+|\*/
                | ^[ \t]*DELIMITER\s.*?(?:^[ \t]*DELIMITER[ \t]+;|\Z))
              | (?P<quoted>'(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+"|`[^`]*+`)"""
            + _REST,
            _FLAGS,
        ),
        "postgres": re.compile(
            r"""(?P<skip>--[^\n]*+|/\*.*?(?:\*/|\Z)|^\\[^\n]*+)
              | (?P<quoted>\bE'(?:[^'\\]|\\.|'')*+'|'(?:[^']|'')*+'|"(?:[^"]|"")*+"
                | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z))"""
            + _REST,
            _FLAGS,
        ),
        "tsql": re.compile(
            r"""(?P<skip>--[^\n]*+|/\*.*?(?:\*/|\Z))
              | (?P<quoted>'(?:[^']|'')*+'|"(?:[^"]|"")*+"|\[[^\]]{0,256}+\])
              | (?P<go>^[ \t]*GO[ \t]*\d*[ \t]*\r?$)
              | (?P<start>^[ \t]*(?:INSERT|CREATE|ALTER|USE|PRINT|EXEC
                | SET[ \t]+(?:ANSI|QUOTED|NOCOUNT|IDENTITY)\w*)\b)"""
            + _REST,
            _FLAGS,
        ),
    }
)
_COPY: Final = re.compile(r"\s*COPY\b.*\bFROM\s+stdin\b", re.IGNORECASE | re.DOTALL)
_END_OF_ROWS: Final = re.compile(r"^\\\.[ \t\r]*$", re.MULTILINE)
_ROUTINE: Final = re.compile(
    r"\s*(?:CREATE|ALTER)\s+(?:OR\s+\w+\s+)?(?:PROC|PROCEDURE|FUNCTION|TRIGGER)\b", re.IGNORECASE
)
_RULE: Final = re.compile(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?RULE\b", re.IGNORECASE)
_GO: Final = re.compile(r"^[ \t]*GO[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


_ANSI: Final = re.compile(
    r'^[ \t]*CREATE[ \t]+TABLE[ \t]+(?:IF[ \t]+NOT[ \t]+EXISTS[ \t]+)?"', re.IGNORECASE | re.MULTILINE
)
"""What a dump of MySQL has whose names are in double quotes (`--compatible=ansi`), as then texts never are."""


class DumpStatement(NamedTuple):
    """One statement without comments, the rows that follow it (COPY), and how deep its brackets are nested."""

    text: str
    rows: str = ""
    depth: int = 0


def vendor_of(script: str) -> Vendor | None:
    """Whose dump a script is, by marks that no other engine writes; None where there is none.

    >>> vendor_of("CREATE TABLE `t` (`a` int) ENGINE=InnoDB"), vendor_of("CREATE TABLE t (a int)")
    ('mysql', None)
    """
    head = script[:_SEARCHED]
    counts = {vendor: sum(1 for _ in marks.finditer(head)) for vendor, marks in _MARKS.items()}
    best = max(counts, key=lambda vendor: counts[vendor])
    return best if counts[best] else None


def split_dump(script: str, vendor: Vendor) -> Iterator[DumpStatement]:
    """Every statement that is not blank; the bodies of routines and triggers are left out."""
    pattern = _TOKENS[vendor]
    names_in_quotes = vendor == "mysql" and _ANSI.search(script)
    at, parts, depth, deepest = 0, list[str](), 0, 0
    while token := pattern.match(script, at):
        kind, at = token.lastgroup, token.end()
        # A `;` ends a statement in brackets too, of which one may lack its closing bracket; but not in a rule's body.
        within = depth and (kind == "start" or (kind == "end" and _RULE.match("".join(parts[:20]))))
        if kind not in {"end", "go", "start"} or within:
            depth += (kind == "open") - (kind == "close" and depth > 0)
            deepest = max(deepest, depth)
            text = " " if kind == "skip" else token[0]
            parts.append(f"`{unquoted(text).replace('`', '``')}`" if names_in_quotes and text[0] == '"' else text)
            continue
        text, rows = "".join(parts).strip(), ""
        if vendor == "postgres" and _COPY.match(text):
            end = _END_OF_ROWS.search(script, at)
            rows, at = script[at : end.start() if end else None].lstrip("\r\n"), end.end() if end else len(script)
        if text:
            yield DumpStatement(text, rows, deepest)
        parts, depth, deepest = [], 0, 0
        if kind == "start" and _ROUTINE.match(script, token.start()):
            # Lines of a body look like statements: it ends with its batch.
            batch = _GO.search(script, at)
            at = batch.end() if batch else len(script)
        elif kind == "start":
            parts = [token[0]]
    if text := "".join(parts).strip():
        yield DumpStatement(text, "", deepest)


NAME: Final = r"""(?:[\w$]+|"(?:[^"]|"")+"|`(?:[^`]|``)+`|\[(?:[^\]]|\]\])+\])"""
"""A name, bare or quoted by any vendor."""


def unquoted(name: str) -> str:
    """A name of `NAME` without its quotes.

    >>> [unquoted(name) for name in ('"a""b"', "`c`", "[d e]", "f")]
    ['a"b', 'c', 'd e', 'f']
    """
    mark = name[:1]
    if mark == "[":
        return name[1:-1].replace("]]", "]")
    return name[1:-1].replace(mark * 2, mark) if mark and mark in '"`' else name


_ATTACHED: Final = re.compile(
    rf"^[ \t]*ALTER\s+TABLE\s+(?:ONLY\s+)?(?:(?:{NAME}\s*\.\s*)*(?P<name>{NAME})\s+ATTACH\s+PARTITION\s+"
    rf"(?:{NAME}\s*\.\s*)*(?P<partition>{NAME})"
    rf"|(?:{NAME}\s*\.\s*)*(?P<heir>{NAME})\s+INHERIT\s+(?:{NAME}\s*\.\s*)*(?P<parent>{NAME}))",
    re.IGNORECASE | re.MULTILINE,
)


def parents_of(script: str) -> tuple[dict[str, str], dict[str, str]]:
    """Partition -> its table, and table -> one that inherits from it, as ALTER TABLE says, also behind the rows.

    >>> parents_of("ALTER TABLE ONLY public.ev ATTACH PARTITION public.ev_2024 DEFAULT;")
    ({'ev_2024': 'ev'}, {})
    """
    parents: dict[str, str] = {}
    heirs: dict[str, str] = {}
    for match in _ATTACHED.finditer(script):
        name, partition, heir, parent = (unquoted(part or "").casefold() for part in match.groups())
        (parents if partition else heirs)[partition or parent] = name or heir
    return parents, heirs


_DOMAIN: Final = re.compile(
    rf"^[ \t]*CREATE\s+DOMAIN\s+(?:{NAME}\s*\.\s*)*(?P<name>{NAME})\s+(?:AS\s+)?(?P<base>\w+"
    r"(?:\s+(?:varying|precision)\b)?(?:\s*\([\d\s,]+\))?(?:\s+with(?:out)?\s+time\s+zone\b)?)",
    re.IGNORECASE | re.MULTILINE,
)


def domains_of(script: str) -> dict[str, str]:
    """Domains of PostgreSQL with the types that they are of; none of a name that schemas give to several types.

    >>> domains_of('CREATE DOMAIN public.year AS integer CONSTRAINT c CHECK (VALUE > 1900);')
    {'year': 'integer'}
    >>> domains_of('CREATE DOMAIN a.kind AS integer;' + chr(10) + 'CREATE DOMAIN b.kind AS text;')
    {}
    """
    bases: dict[str, set[str]] = {}
    for match in _DOMAIN.finditer(script):
        bases.setdefault(unquoted(match["name"]).casefold(), set()).add(match["base"])
    return {name: next(iter(types)) for name, types in bases.items() if len(types) == 1}


_TABLE: Final = re.compile(r"(?:CREATE|ALTER)\s+(?:TEMPORARY\s+)?TABLE\b", re.IGNORECASE)
_MYSQL_UNSUPPORTED: Final = re.compile(
    r"""(?P<kept>'(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+"|`[^`]*+`)|\bSRID\s+\d++|\bWITH\s+SYSTEM\s+VERSIONING\b"""
    r"""|(?<=[\w`])\s++(?P<spatial>(?:MULTI)?(?:POINT|LINESTRING|POLYGON)|GEOM(?:ETRY)?COLLECTION)\b(?!\s*\(|\s+USING\b)"""
    r"""|\bPARTITION\s+BY\s+(?:LINEAR\s+)?(?:(?:RANGE|LIST)(?:\s+COLUMNS)?\s*\(|HASH\s*\(|KEY\b|SYSTEM_TIME\b).*\Z""",
    re.IGNORECASE | re.DOTALL,
)
"""In a table of MySQL: partitions, and what a geometry is of."""
_NOISE: Final = re.compile(
    r"""('(?:[^']|'')*+'|\[[^\]]{0,256}+\])
      | \b(?:ROWGUIDCOL|SPARSE|PERSISTED|(?:NON)?CLUSTERED|NOT\s+FOR\s+REPLICATION|WITH\s+(?:NO)?CHECK)\b
      | \b(?:ASC|DESC)\b(?=\s*[,)])
      | (?<=\))\s*WITH\s*\((?:\s*+\w++\s*+=\s*+\w++\s*+,?)++\)
      | \b(?:TEXTIMAGE_|FILESTREAM_)?ON\s*(?:\[PRIMARY\]|PRIMARY\b)""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words of a table of SQL Server that sqlglot does not read, and that mean nothing elsewhere; literals and names are
kept."""
_NO_DATA: Final = re.compile(r"\bWITH\s+(?:NO\s+)?DATA\s*\Z", re.IGNORECASE)
_BIT_VARYING: Final = re.compile(r"\bbit varying\b(?:\(\d+\))?", re.IGNORECASE)
_OVERRIDING: Final = re.compile(r"\A([^']*?\s)OVERRIDING\s+(?:SYSTEM|USER)\s+VALUE\b", re.IGNORECASE)
"""What pg_dump writes behind materialized views, and before the rows of identities; sqlglot reads neither."""


def strip_unsupported(text: str, vendor: Vendor) -> str:
    """Remove from a statement what sqlglot cannot read and nothing depends on.

    >>> table = "CREATE TABLE `a` (`at` point NOT NULL SRID 4326) PARTITION BY HASH (`id`) PARTITIONS 4"
    >>> strip_unsupported(table, "mysql").strip()
    'CREATE TABLE `a` (`at` geometry NOT NULL )'
    """
    if vendor == "tsql" and _TABLE.match(text):
        return _NOISE.sub(lambda match: match[1] or " ", text)
    if vendor == "postgres":
        text = _BIT_VARYING.sub("text", text) if _TABLE.match(text) else text
        return _OVERRIDING.sub(r"\1", _NO_DATA.sub("", text), count=1)
    if vendor == "mysql" and _TABLE.match(text):
        return _MYSQL_UNSUPPORTED.sub(lambda match: match["kept"] or (" geometry" if match["spatial"] else ""), text)
    return text
