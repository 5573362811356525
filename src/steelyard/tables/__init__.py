"""How close is a predicted table to the wanted one? The metrics of QATCH, and code written for its API runs here.

metrics        the metrics as pure functions, by five rule sets
evaluator      MetricEvaluator: rows and data frames, with SQL where there are databases
tags           one metric each, as an object
databases      MultipleDatabases: many files of one folder, addressed by id, every query in the sandbox
"""

from __future__ import annotations

from steelyard.tables.databases import MultipleDatabases
from steelyard.tables.evaluator import MetricEvaluator
from steelyard.tables.measure import ALL_METRICS, METRICS, Measure, RuleName
from steelyard.tables.metrics import (
    cell_precision,
    cell_recall,
    execution_accuracy,
    table_metrics,
    tuple_cardinality,
    tuple_constraint,
    tuple_order,
    tuple_order_unit,
)
from steelyard.tables.single_database import QueryFailed, SingleDatabase
from steelyard.tables.tags import (
    CellPrecisionTag,
    CellRecallTag,
    TupleCardinalityTag,
    TupleConstraintTag,
    TupleOrderTag,
)

__all__ = [
    "ALL_METRICS",
    "METRICS",
    "CellPrecisionTag",
    "CellRecallTag",
    "Measure",
    "MetricEvaluator",
    "MultipleDatabases",
    "QueryFailed",
    "RuleName",
    "SingleDatabase",
    "TupleCardinalityTag",
    "TupleConstraintTag",
    "TupleOrderTag",
    "cell_precision",
    "cell_recall",
    "execution_accuracy",
    "table_metrics",
    "tuple_cardinality",
    "tuple_constraint",
    "tuple_order",
    "tuple_order_unit",
]
