"""What stands around a preference and changes it, as patterns on folded text: data for `rating_preference`."""

from __future__ import annotations

import re
from typing import Final

ASPECT_BEFORE: Final = re.compile(
    r"\b(?:in terms of|regarding|as for|when it comes to|with respect to|on (?:\w{1,14}|the \w{1,14})"
    r"|in (?:accuracy|clarity|depth|style|tone|detail)|for (?!this|these|the|all|that)\w{1,20}"
    r"|from the (?:perspective|standpoint|point of view) of|(?:clarity|accuracy|helpfulness|relevance|depth"
    r"|creativity|detail|coherence|fluency|style|tone|harmlessness|completeness|conciseness)\s{0,2}:)[^.;\n]{0,60}\Z"
    r"|(?:在|从|就)[^。;\n]{1,16}(?:方面|上|而言|来看|角度|来说)[^。;\n]{0,12}\Z|(?:准确性|清晰度?|相关性|流畅性"
    r"|完整性|帮助性|简洁性|有用性|深度|语言)[^。;\n]{0,4}[:,][^。;\n]{0,12}\Z",
    re.IGNORECASE,
)
CONDITION: Final = re.compile(
    r"\b(?:whether|unless|not|cannot|neither|nor|would have been|either|in case|avoid|assume|although|though|while"
    r"|despite|even though|if|\w{2,6}n't)\b[^.,:;\n]{0,40}\Z"
    r"|\b(?:could|might|may|can) (?:\w{2,14}ly )?(?:argue|say|think|claim)\b[^.,;\n]{0,40}\Z"
    r"|\b(?:which|when|why|how)\b(?!\s{0,3}\Z)[^.,;\n]{0,40}\Z|\bif\b(?!\s(?:i|we|one)\s(?:had|have|were"
    r"|must))[^.;\n]{0,80}\Z"
    r"|(?:如果|若|假如|除非)[^。;\n]{0,24}\Z|(?:是否|不能说|并非|不是|虽然|尽管|哪个|为什么)[^。,;\n]{0,12}\Z",
    re.IGNORECASE,
)
INSTRUCTION: Final = re.compile(
    r"[\"'\]\s]{0,4}(?:,\s?)?(?:if\b|for a\b|when\b|in case\b|means\b|indicates\b|如果|若|表示|代表|当)"
    r"|[\"']?(?:\s{0,2}(?:/|\||,|\bor\b|\band\b|或者?|和|、)){1,2}\s{0,2}[\"']?\[\[",
    re.IGNORECASE,
)
"""Behind a mark: it is what the prompt asked for, copied."""

ALTERNATIVE: Final = re.compile(
    r"\]\][\"']?(?:\s{0,2}(?:/|\||,|\bor\b|\band\b|或者?|和|、)){1,2}\s{0,2}[\"']?\Z", re.IGNORECASE
)
"""The same in front of one."""

CONCLUDING: Final = re.compile(
    r"\b(?:therefore|thus|hence|overall|in conclusion|in summary|so|consequently|ultimately|all in all|on balance"
    r"|to sum up|in the end|taken together|considering all|all things considered|for these reasons|final(?:ly)?"
    r"|all considered)\b"
    r"|因此|所以|综上|总之|故|综合|总体|整体|总的来|最终",
    re.IGNORECASE,
)
REFLECTION: Final = re.compile(
    r"\b(?:on reflection|on second thought|wait|actually|correction|after reconsidering|reconsidering|i (?:take"
    r"|took) that back|let me (?:revise|correct|reconsider)|upon (?:closer|further|re-?)\s?\w{0,14}|change my)\b"
    r"|重新考虑|更正|等等|再想想|仔细想想|不对[,。]",
    re.IGNORECASE,
)
OVERALL_AFTER: Final = re.compile(r",? (?:overall|on the whole|in general|all in all)\b", re.IGNORECASE)
"""Behind a sentence: it is about all, not about one aspect."""

CONTRAST: Final = re.compile(
    r"\b(?:but|however|although|though|while|whereas|yet|on the other hand|nevertheless|in contrast)\b|但|然而|不过"
    r"|虽然|尽管|而(?!且)",
    re.IGNORECASE,
)
