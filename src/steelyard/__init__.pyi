# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard import analysis as analysis
from steelyard import data as data
from steelyard import generate as generate
from steelyard import models as models
from steelyard import replies as replies
from steelyard import report as report
from steelyard import scorers as scorers
from steelyard import sql as sql
from steelyard import stats as stats
from steelyard import suites as suites
from steelyard import tables as tables
from steelyard import targets as targets
from steelyard.analysis.comparison.compare_runs import compare as compare
from steelyard.analysis.preferences.win_rates import preferences as preferences
from steelyard.errors import ConfigError as ConfigError
from steelyard.errors import SteelyardError as SteelyardError
from steelyard.evaluation import Options as Options
from steelyard.evaluation import Suite as Suite
from steelyard.from_python.evaluate import aevaluate as aevaluate
from steelyard.from_python.evaluate import evaluate as evaluate
from steelyard.from_python.runs import Runs as Runs
from steelyard.models import Budget as Budget
from steelyard.models import OpenAICompatible as OpenAICompatible
from steelyard.models import Scripted as Scripted
from steelyard.scorers import Choice as Choice
from steelyard.scorers import ExactMatch as ExactMatch
from steelyard.scorers import Judge as Judge
from steelyard.store import Run as Run
from steelyard.store import Store as Store
from steelyard.suites.battles import rank as rank
from steelyard.targets import Baseline as Baseline
from steelyard.targets import Prompt as Prompt
from steelyard.types import Label as Label
from steelyard.types import Output as Output
from steelyard.types import Record as Record
from steelyard.types import Reply as Reply
from steelyard.types import Sample as Sample
from steelyard.types import Score as Score
from steelyard.types import ScoreInfo as ScoreInfo
from steelyard.workers.executors import aevaluate_suite as aevaluate_suite
from steelyard.workers.executors import evaluate_suite as evaluate_suite

__version__: str
