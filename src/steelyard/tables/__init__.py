"""Measures how close a predicted table is to the expected one, with the metrics and the API of QATCH.

metrics        the metrics as pure functions, by five rule sets
rules          the rule sets, in one table
evaluator      QATCH's API: MetricEvaluator for rows and data frames, and one object for each metric
databases      MultipleDatabases: many files of one folder, addressed by id, every query in the sandbox
"""

from __future__ import annotations

from steelyard.tables.databases import MultipleDatabases, QueryFailed, SingleDatabase
from steelyard.tables.evaluator import (
    CellPrecisionTag,
    CellRecallTag,
    MetricEvaluator,
    TupleCardinalityTag,
    TupleConstraintTag,
    TupleOrderTag,
)
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
