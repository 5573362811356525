"""What each rule set makes of the text of two queries before any is run: equal, ordered, or changed.

The releases of QATCH look for words in the text; `documented` and `steelyard` ask the syntax tree. So a table called
`orders`, an `ORDER BY` of a window and a line break between the two words mislead the releases alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from steelyard.sql.order import ordering_of
from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.ties import window_of
from steelyard.tables.measure import RuleName

EQUAL_TEXT: Final = "the two queries are equal as texts; neither was run"

_TREE: Final[frozenset[RuleName]] = frozenset({"steelyard", "documented"})
_TARGET_CHANGES: Final = ((" ,", ","), ("  ", " "), ('"', ""), ("'", ""))
_PREDICTION_CHANGES: Final = ((" ( ", "("), (" )", ")"))


def cleaned_identical(target: str, prediction: str) -> bool:
    """Whether two queries are equal without case, quotes and some blanks, as QATCH before 1.0 cleans them.

    The prediction alone also loses blanks beside parentheses: that is how the releases do it.

    >>> cleaned_identical("SELECT a FROM t", 'select "a"  from t'), cleaned_identical("SELECT f(a)", "SELECT f ( a )")
    (True, True)
    """
    cleaned, other = target.lower(), prediction.lower()
    for old, new in _TARGET_CHANGES:
        cleaned, other = cleaned.replace(old, new), other.replace(old, new)
    for old, new in _PREDICTION_CHANGES:
        other = other.replace(old, new)
    return cleaned.strip() == other.strip()


def equal_texts(target: str, prediction: str, rules: RuleName) -> bool:
    """Whether a rule set calls two queries equal without running them; `steelyard` never does."""
    if rules == "steelyard":
        return False
    if rules == "qatch-1.0.36":
        return target.lower() == prediction.lower()
    return cleaned_identical(target, prediction)


def ordered(target: str, rules: RuleName, engine: EngineName = "sqlite", *, unrun: bool = False) -> bool:
    """Whether the order of rows counts for a rule set.

    Args:
        target: the wanted query.
        rules: whose rules.
        engine: whose syntax it is in.
        unrun: whether the two texts are equal: the releases before 1.0 look for another word then.

    >>> ordered("SELECT * FROM orders", "qatch-0.2.2", unrun=True), ordered("SELECT * FROM orders", "documented")
    (True, False)
    """
    if rules in _TREE:
        return _orders_rows(target, engine)
    old = unrun and rules != "qatch-1.0.36"
    return ("order" if old else "order by") in target.lower()


def tied_rows(query: str, engine: EngineName, table: ResultTable) -> Sequence[int] | None:
    """The group of each row of a result, where rows of one group have equal sort keys; None where none is known.

    Known are keys that are columns of the result; a LIMIT that cuts through a group leaves the rows that it kept.

    >>> table = ResultTable(("name", "age"), [("Ann", 7), ("Ben", 7), ("Cem", 9)])
    >>> tied_rows("SELECT name, age FROM t ORDER BY age", "sqlite", table)
    [0, 0, 1]
    >>> tied_rows("SELECT name, age FROM t ORDER BY height", "sqlite", table) is None
    True
    """
    ordering = ordering_of(query, engine=engine, columns=table.columns)
    if ordering is None or not ordering.in_output:
        return None
    window = window_of(table, ordering, None, None)
    return None if window.strict else window.groups


def of_table(rules: RuleName) -> bool | None:
    """Whether the order of rows counts where the target is a table: None, measured but not asked for; 1.0.36: no."""
    return False if rules == "qatch-1.0.36" else None


@lru_cache(maxsize=1024)
def _orders_rows(query: str, engine: EngineName) -> bool:
    """Kept, because parsing takes a millisecond and the rows of a frame share their targets."""
    return ordering_of(query, engine=engine) is not None


def as_run(query: str, rules: RuleName) -> str:
    """A query as a rule set sends it to the database: QATCH 1.0.36 drops every semicolon, also in literals."""
    return query.replace(";", "") if rules == "qatch-1.0.36" else query
