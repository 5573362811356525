# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.analysis.conditions import Condition as Condition
from steelyard.analysis.conditions import parse_condition as parse_condition
from steelyard.generate.code_trial import TrialPlan as TrialPlan
from steelyard.generate.code_trial import make_scorer as make_scorer
from steelyard.generate.code_trial import try_code as try_code
from steelyard.generate.qa import QaSettings as QaSettings
from steelyard.generate.qa import generate_qa as generate_qa
from steelyard.generate.question_set import QaRow as QaRow
from steelyard.generate.question_set import QaSet as QaSet
from steelyard.generate.review import ReviewPlan as ReviewPlan
from steelyard.generate.reviewer import Reviewer as Reviewer
from steelyard.generate.writer import QuestionWriter as QuestionWriter
from steelyard.people.codings import draw_coding as draw_coding
from steelyard.people.codings import new_code as new_code
from steelyard.people.codings import write_note as write_note
from steelyard.store.reading.pages import matching_records as matching_records
