# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.replies.abstention import is_abstention as is_abstention
from steelyard.replies.choice import read_choice as read_choice
from steelyard.replies.judge_reply import Scale as Scale
from steelyard.replies.judge_reply import Verdict as Verdict
from steelyard.replies.label import read_label as read_label
from steelyard.replies.listing import Listing as Listing
from steelyard.replies.listing import read_list as read_list
from steelyard.replies.listing import read_listing as read_listing
from steelyard.replies.options import ChoiceReading as ChoiceReading
from steelyard.replies.preference import read_preference as read_preference
from steelyard.replies.rating import read_rating as read_rating
from steelyard.replies.sql import SqlReading as SqlReading
from steelyard.replies.sql import read_sql as read_sql
from steelyard.replies.yes_no import read_yes_no as read_yes_no
