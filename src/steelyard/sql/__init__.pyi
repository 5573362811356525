# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.sql.equality import CellEquality as CellEquality
from steelyard.sql.order import ordering_of as ordering_of
from steelyard.sql.results import Database as Database
from steelyard.sql.results import ResultTable as ResultTable
from steelyard.sql.results import SqlFailure as SqlFailure
from steelyard.sql.results import SqlLimits as SqlLimits
from steelyard.sql.sandbox import Sandbox as Sandbox
