"""Words by which a judge calls one of two more, or less, of something: data for `rating_preference`.

More of anything speaks for an answer, as judges put it; less speaks against it only where the thing is good: what is
less wordy may be better for it.
"""

from __future__ import annotations

from typing import Final

_GOOD: Final = (
    r"(?:accurate|appropriate|balanced|clear|coherent|complete|comprehensive|compelling|concise|convincing|correct"
    r"|creative|detailed|direct|effective|engaging|factual|faithful|focused|fluent|helpful|informative|insightful"
    r"|natural|nuanced|organi[sz]ed|persuasive|practical|precise|readable|relevant|reliable|satisfying|satisfactory"
    r"|specific|structured|suitable|thorough|useful|valuable|well[ -]\w{3,12})"
)
_DEGREE: Final = r"(?:(?:much|far|even|a bit|a little|somewhat|clearly|slightly|significantly|considerably)\s){0,2}"

MORE: Final = (
    r"(?:is|was|seems|appears)\s(?:(?!not\b|no\b|less\b|neither\b)\w{1,14}\s){0,2}?(?:more\s\w{3,20}"
    r"|\w{2,12}(?:er)\b(?<!other)(?<!answer)(?<!after)(?<!whether)(?<!rather)(?<!either)(?<!however)(?<!never)(?<!und"
    r"er)|better)"
    r"|(?:provides?|offers?|gives?|contains?|includes?|has|uses?) (?:an? |the )?(?:much |far |slightly )?(?:more"
    r"|better|clearer|richer|deeper)\b"
)
LESS_OF: Final = rf"{_DEGREE}less\s{_GOOD}\b|not\s(?:\w{{2,14}}ly\s|quite\s|nearly\s)?as\s{_GOOD}\b"
LESS: Final = rf"(?:is|was|seems|appears)\s(?:{LESS_OF})|(?:isn't|wasn't)\s(?:quite\s)?as\s{_GOOD}\b"
MORE_OF: Final = rf"{_DEGREE}(?:more\s{_GOOD}|clearer|richer|deeper|stronger|fuller)\b(?!-)"
FOUND: Final = r"\b(?:find|found|consider|considered|deem|judge|judged)\s(?:that\s)?(?:the\s)?"
ZH_MORE: Final = r"更加?[\u4e00-\u9fff]{1,4}"
