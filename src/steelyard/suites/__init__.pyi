# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.suites.choice.rows import load_choice as load_choice
from steelyard.suites.choice.suite import ChoiceSuite as ChoiceSuite
from steelyard.suites.general.rows import load_general as load_general
from steelyard.suites.general.suite import GeneralSuite as GeneralSuite
from steelyard.suites.pairwise import PairwiseSuite as PairwiseSuite
from steelyard.suites.pairwise import load_pairwise as load_pairwise
from steelyard.suites.rag import RagSuite as RagSuite
from steelyard.suites.rag import load_rag as load_rag
from steelyard.suites.tables import TablesSuite as TablesSuite
from steelyard.suites.tables import load_tables as load_tables
from steelyard.suites.text2sql.rows import load_text2sql as load_text2sql
from steelyard.suites.text2sql.suite import Text2SqlSuite as Text2SqlSuite
