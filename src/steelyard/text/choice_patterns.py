r"""What replies to multiple-choice questions say, as patterns: data for the rules in the modules beside this one.

All of them run on folded text (`cleaned_reply.fold`): full-width marks are plain there, `，` is `,`, bold is gone.
Every repetition is bounded, so that the time for a reply grows with its length and no faster.
"""

from __future__ import annotations

import re
from typing import Final

_EN: Final = re.IGNORECASE

# --- what is no part of the answer ------------------------------------------------------------------------------

REASONING: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<scratchpad>", "</scratchpad>"),
    ("◁think▷", "◁/think▷"),
    ("[think]", "[/think]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis", "<|channel|>final<|message|>"),
    ("analysis<|message|>", "assistantfinal"),
    ("<unused94>", "<unused95>"),
)
"""Opening and closing marks of reasoning that is not addressed to the reader."""

HEADED_REASONING: Final = re.compile(
    r"\s{0,40}(?:\[|【)?(?:思考过程|思考|推理过程|推理|分析过程|解题思路|thinking process|thinking"
    r"|thought process|thoughts?"
    r"|reasoning|chain of thought|scratchpad)\s*(?:】|\])?\s*(?::|\.\.\.|…|\n)",
    _EN,
)
"""A heading at the very beginning, under which the model thinks."""

HEADED_ANSWER: Final = re.compile(
    r"\n\s{0,20}(?=(?:\[|【)?(?:最终答案|最终回答|正式回答|最终结论|回答|答案|final answer|final response|answer"
    r"|response"
    r"|output)\s*(?:】|\])?\s*[:\n])|\n\s{0,20}(?:\.\.\.|…)?done thinking\b\.?",
    _EN,
)
"""Where the answer begins that follows headed reasoning."""

TURN_ENDS: Final = re.compile(
    r"<\|(?:endoftext|end_of_text|im_end|eot_id|eom_id|end|eos|end_of_turn|user|im_start|start_header_id)\|>|</s>|<eos>"
    r"|<end_of_turn>|<start_of_turn>user|\[INST\]|\n\s{0,20}(?:Instruction|Human|User|用户|指令)\s*:",
)
"""The end of the model's turn, or the beginning of somebody else's; what follows is not its answer."""

STRUCK: Final = re.compile(r"~~[^~\n]{1,200}~~|<(del|strike)>[^<\n]{1,200}</\1>", _EN)
"""What the model has struck through."""

MARKS: Final = re.compile(
    r"(?<!\w)__?(?=[A-Za-z(]{1,3}[.)]?_)|(?<=[A-Za-z.)])__?(?!\w)|</?s>|<\|[A-Za-z_]{1,24}\|>|<eo[a-z]>"
    r"|\[/?INST\]|(?-i:</?(?:b|strong|i|em|p|br|span|u|div)\s*/?>)"
    r"|\\(?:text|mathrm|mathbf|textbf|textit|rm|bf|displaystyle)(?![a-z])",
    _EN,
)
"""Markup and end-of-turn tokens that are read as spaces."""

EXAMPLE: Final = re.compile(
    r"(?:下面是一个例子|以下是一个例子|here is an example)[^\n]{0,20}\n[\s\S]{0,800}?(?=\n\s*(?:请你?回答"
    r"|Question|Now)|$)|"
    r"(?:例如|比如|for example|e\.g\.)[,:]?\s*[\[【](?:正确)?答案[\]】]\s*[A-Z]",
    _EN,
)
"""The example of the instructions, copied back by the model."""

FOLLOW_UP: Final = re.compile(
    r"(?:^|\n)\s{0,20}(?:\d{1,3}\s{0,3}[.、]\s{0,3})?(?:请你回答|请回答|请从以下|请选出|请问:|[【\[]?(?:考察|题目|问题"
    r"|练习)[】\]]?\s*\d{0,3}\s*[:\n】]"
    r"|【考察】|【题目】|Question\s*\d{0,3}\s*[:.\n]|Q\d{0,3}:|Problem\s*\d{0,3}:|(?:User|Human|USER|HUMAN)\s*:"
    r"|Instructions?:|The following (?:is|are) (?:a )?multiple|(?:Next|Another|New|Second|Bonus|Follow-up"
    r"|Example|Practice)\s(?:question|problem)"
    r"\b|(?:Exercise|Passage)\s*\d{0,3}\s*[:.\n]|下一题|第[二三四五六七八九十]题)",
)
"""The beginning of a further question that nobody asked."""

CORRECTION: Final = re.compile(
    r"(?:^|[.!?。!?\n…]\s{0,20})(?:(?:no|oh|hmm|but)\b,?\s*){0,2}(?:wait|actually|on second thoughts?"
    r"|(?:up)?on (?:further )?(?:reflection|consideration)"
    r"|correction|hold on|oops|scratch that|i meant?|let me (?:re|double)-?\s?\w{3,12}|no,? (?:it|that)(?:'s| is)"
    r"|let me correct|my mistake|i made an? (?:mistake|error)|sorry, (?:i|the|it))\b|(?:\?|\.\.|[-–—])\s?no\b"
    r"|\b(?:edit(?:ed)?|updated?|erratum|amend(?:ed|ment)|revised(?: (?:answer|choice|response))?)\s?:"
    r"|(?:^|[。\n,!.])\s{0,20}(?:等等|等一下|不对[,。!]|不[,。]|更正|纠正一下|我(?:刚才)?(?:弄|搞|算|看)?错了"
    r"|重新(?:考虑"
    r"|检查|审视|思考|分析))",
    _EN,
)
"""Where a model takes back what it said before."""

CORRECTION_WORDS: Final = (
    *("wait", "actually", "thought", "reflection", "consideration", "correction", "hold on", "oops", "scratch that"),
    *(
        "edit",
        "update",
        "erratum",
        "amend",
        "revised",
        "i mean",
        "let me",
        "mistake",
        "error",
        "sorry",
        "等等",
        "等一下",
        "不对",
        "不,",
        "不。",
    ),
    *("更正", "纠正", "错了", "重新", "?no", "? no", "..no", ".. no", "no it", "no, it", "no that", "no, that"),
    *("-no", "- no", "–no", "– no", "—no", "— no"),
)
"""One of these stands in whatever `CORRECTION` finds."""

# --- declarations ------------------------------------------------------------------------------------------------

_BE: Final = (
    r"(?:is|are|was|be|would be|should be|must be|will be|may be|might be|could be|can be|has to be|appears to be"
    r"|seems to be|remains|being|'s)"
)
FINE: Final = (
    r"(?<!in)(?:(?:remaining|surviving|leftover)(?=\s(?:option|choice|answer|one|alternative|letter"
    r"|candidate)\b)|correct|right|best|final|closest|nearest|accurate|likely|appropriate|suitable|logical|reasonable"
    r"|plausible|relevant|fitting|preferred|chosen|selected|proper|true|valid|only|better|suited|probable"
    r"|exact|desired"
    r"|matching|given|overall)"
)
NOUN: Final = (
    r"(?:answers?|options?|choices?|responses?|selections?|solution|statements?|description|descriptor|explanation"
    r"|conclusion|match|one|letter|alternative|pick|guess|order|sequence|interpretation|opinion|view|rating"
    r"|preference)"
)
FITS: Final = (
    r"(?:fits?|matche?s?|works?|suits?|describes?|reflects?|represents?|captures?|answers|satisf(?:y|ies)|aligns?"
    r"|corresponds?|expresses|summari[sz]es|completes|explains|states)"
)
"""What an option does that is the answer."""

_HEDGE: Final = (
    r"(?:(?:therefore|thus|hence|then|most|likely|probably|definitely|clearly|indeed|simply|closest|nearest|to"
    r"|in fact"
    r"|as follows|either|both|only|still|also|actually|best|represented|described|by|given|found|in|that|the"
    r"|following|correct|right|final|answer|labell?ed|as|option|options|choice|choices|letter|number|statement"
    r"|correctly|expressed|would|be|is)\b[\s,:]{1,4}){0,6}"
)
_OPENING: Final = r"[\s:=\-–—>\"'「《(\[{【<$|~_/\\]{0,12}"

STRONG: Final = re.compile(
    r"\\(?:boxed|fbox)\s*\{?"
    r"|<answer>"
    r"|[\"'](?:final_?|correct_?|selected_?)?(?:answers?|choices?|options?|letter|response|答案|选项|选择)[\"']\s*:"
    r"|\bans\b\s?(?:[.:=\-–—]{1,2}|is\b|(?=\(?[A-Za-z]\)?\W*(?:\n|$)))"
    r"|(?:^|\n)\s{0,20}(?:correct|right|true)\s{0,2}:(?=[^\n]{0,12}(?:\n|$))"
    r"|\n\s{0,8}(?-i:A)\s?:\s(?=(?-i:\(?[A-Z](?:[).]|\s{0,4}(?:\n(?!\s{0,8}B\s?[:.)])|\Z))))"
    r"|\b(?:(?:final|correct|right|best) ){0,2}answers?\b\s*(?:choice|option|letter)?\s{0,3}[:=>\-–—]{1,3}"
    r"|(?:^|\n)\s{0,20}(?:(?:final|correct|the) ){0,3}(?:answers?|choice|option|selection|response)\s*[:(\n]"
    rf"|\banswers?\b[^.,;:?!\n。]{{0,70}}?\s*{_BE}(?=[\s:\-\"'(\[]){_OPENING}"
    rf"|\b(?:{FINE}|my|most \w{{1,16}})\s(?:\w{{1,14}}\s){{0,2}}{NOUN}\b[^.,;:?!\n。]{{0,90}}?"
    rf"\s*(?:{_BE}(?=[\s:\-\"'(\[])|:)"
    rf"|(?:答案|正确选项|正确项)\s*[\]】」)]?\s*(?:应该|应当|应|就|可能|最可能|便|只能|当)?\s*(?:是|为|选择|选|:|=)?"
    r"|[\[【](?:正确选项|选项|选择|答)[\]】]",
    _EN,
)
"""Words after which the answer stands; nothing in a reply outweighs them but a later one."""

PLAIN: Final = re.compile(
    r"\b(?:i|we|let's|i'd|i'll|i've|you should|one should)\s*(?:\w{1,12}ly\s|also |would |will |'d |'ll "
    r"|must |therefore,? |thus,? |hence,? |then,? |now "
    r"|rather |just |instead "
    r"|have to "
    r"|had to |can |should |could |might |have |am |'m |going to |like to |want to |need to |still |personally ){0,4}"
    r"(?:say|choose|chose|chosen|choosing|select|selected|selecting|pick|picked|go with|going with|went with|answer"
    r"|opt for|take|recommend|suggest|lean towards?|leaning towards?|prefer|guess|respond with|respond|go for|settle on"
    r"|conclude|believe|think|assume|rate it|vote for|give)\b(?: that| it'?s| it is| it as| it to be| for| on)?"
    rf"|\b(?:{FINE}|most \w{{1,16}})\s(?:\w{{1,14}}\s){{0,2}}{NOUN}\b[^.,;:?!\n。]{{0,60}}?\s*(?=\()"
    r"|\bit(?:'s| is| must be| should be| would be| has to be| becomes| turns out to be)\s"
    r"|\bclosest(?:\s\w+){0,2}?\sis\s"
    r"|\bnot\s(?:options?\s|the\s)?\(?[A-Z]\)?,?\s?but(?:\srather)?\s|不是(?:选项)?[A-Z](?:选项)?,?\s?而是"
    r"|\b(?:change|switch|revise|correct)\s(?:it|this|that|my (?:answer|choice))\sto\s|\bone left\b[^.\n]{0,12}?\sis\s"
    r"|(?:应该|应当|更可能|还是)(?:是|为|选)"
    r"|\bleav(?:es|ing)\s(?:us\s|you\s|me\s)?(?:with\s)?(?:only\s|just\s)?|\bleft with\s(?:only\s|just\s)?"
    r"|\b(?:all|every(?:thing)?|each|any(?:thing)?|none|no(?:thing)?|neither)\b[^.\n]{0,40}?\b(?:except|but|other than"
    r"|besides|apart from|aside from|with the exception of|save)\s(?:for\s)?(?=(?:options?\s)?\(?[A-Z]\b[^.\n]{0,4}\s"
    r"(?:(?:is|are|was|were|(?:can|could|may|might|should|must)\sbe|ha(?:s|ve)\sbeen)\s(?:clearly\s|all\s"
    r"|now\s|safely\s)?"
    r"(?:(?:in|not )?(?:correct|right|true|wrong|false|valid|appropriate|suitable)|eliminated|excluded|ruled out"
    r"|discarded|dismissed|rejected|crossed out|set aside|out\b)|fails?\b|fits?\b|works?\b|makes?\b|match|appl(?:y|ies)"
    r"|holds?\b|remains?\b|qualif))"
    r"|(?:\b(?:if|when|were)\b[^.,:\n]{0,40}?\b(?:forced|pressed|pushed|made|asked|required|compelled|had"
    r"|have|need(?:ed)?"
    r"|must)\b(?:\s(?:to\s)?(?:choose|pick|answer|select|guess|decide|respond|give|make|say)\b[^.,:\n]{0,24})?"
    r"|\b(?:forced|pressed|pushed|compelled)(?:\sto\s\w{2,12}(?:\sone)?)?|\bgun to my head)\s?[,:]\s"
    r"(?=(?:option\s)?(?-i:\(?[A-Z]\)?(?:[.,;!:]|\s*(?:\Z|\n)|\s(?:because|since|would|is)\b)))"
    r"|\bbut\s(?:in the end\s|on balance\s|rather\s|most likely\s"
    r"|\w{1,14}ly\s){1,2}(?=\(?(?-i:[A-Z])\)?(?:[.;!]|\s*(?:\Z|\n)))"
    r"|\b(?:the\s(?:most|more)\s\w{1,14}|the (?:best|better|likeliest))(?:\sone)?\s(?:is|seems|would be)\s"
    r"|\bonly\s(?=(?:option\s|choice\s|answer\s)?\(?[A-Z]\)?\s(?:\([^)\n]{1,60}\)\s)?(?:is|fits|answers|matches"
    r"|works|satisfies"
    r"|remains|makes|describes|meets|can|seems))"
    r"|\b(?:choose|select|pick|corresponds to|matches|closest to|equivalent to|which is|same as|answer is in)\s"
    r"|(?:只剩下?|剩下)(?:的|了)?(?:只有)?(?:是|为)?"
    r"|(?:的|属于|正确|错误|不是|符合)[^。;\n?]{0,24}?的?(?:选项|一项|做法|说法|表述|选择|结论|叙述"
    r"|是)?\s*(?:应该|应当|应|就|便)?(?:是|为|选择|选|:)"
    r"|(?:故|应该|应当|应|因此|所以|则|宜|只能|综上|最终|我会|我将|我|本题|此题|答|可|最好|[,。;!:]|^"
    r"|\n)\s*选(?!项)(?:择|出|取)?(?:的是|了|:)?"
    r"|(?:正确|最佳|最终|合适|恰当|合理)的?(?:选项|选择|一项|说法|表述|做法|叙述|结论)\s*(?:应该|应当|应|就"
    r"|便)?(?:是|为|有|:)",
    _EN | re.MULTILINE,
)
"""Words that announce a choice less formally."""

CONCLUSION: Final = re.compile(
    r"\b(?:therefore|thus|hence|so(?!\s(?:is|are|does|do|can|was)\b)|consequently|accordingly"
    r"|in conclusion|in summary|overall|finally)\b[,:]?\s"
    r"|(?:\A|\n)\s{0,8}(?:=+>|→|⇒|->)\s?"
    r"|\b(?:since|because|as|given)\b[^.\n:;]{2,120}?[,:]\s(?=(?-i:[(\[]?[A-Z][)\]]?[.!]?\s*(?:\Z|\n)))"
    r"|(?:因此|所以|综上所述|综上|故而|故|综合考虑|综合来看|由此可见|总之|可见|得出|得到)[,:]?\s*(?:只有"
    r"|正确的是|应该是|是)?",
    _EN,
)
"""Words that open a concluding sentence; the sentence must then name a letter at once."""

BRACKETED_BE: Final = re.compile(rf"\b{_BE}:?\s{{0,2}}(?=\([A-Z]\))", re.IGNORECASE)
"""`would be (C)`."""

BETWEEN: Final = re.compile(
    rf"{_OPENING}(?:{_HEDGE}){_OPENING}(?:选项|选择|答案|应该|应当|应|就是|是|为|选|:|最|可能"
    rf"|\s){{0,4}}{_OPENING}",
    _EN,
)
"""What may stand between a declaration and its letter."""

DENIED: Final = re.compile(
    r"(?:\bnot|n't|\bcannot|\bnever|\bneither|\bnor|\brather than|\binstead of|\bover|\bno longer"
    r"|\bwithout|\bunless|\bif"
    r"|\bwhether|\bhow|\bwhy|\bwhich|\bexcept|不|没有|并非|未|无法|不能|如果|若|假如|是否|为什么|\bincorrect"
    r"|\bwrong|\bother"
    r"|\bfalse|(?:\bnot|n't)\s(?:think|believe|say|feel|sure)(?:\sthat|\sif|\swhether)?(?:\sit(?:'s"
    r"|\sis))?)\s*(?:是|能|会|应|选"
    r"|the|a|to|be|that|my|have)?\s*$",
    _EN,
)
"""What in front of a declaration turns it into its opposite, a condition or a question."""

# --- no letter at all ----------------------------------------------------------------------------------------------

NONE_OF_THEM: Final = re.compile(
    r"\b(?:none|neither|no(?:t any| one)?|not one)\s(?:of\s)?(?:the\s|these\s|those\s|your\s)?(?:above"
    r"|(?:given |provided |listed "
    r"|available |four |five |answer |above |following |presented |other )*(?:options?|choices?|answers?"
    r"|alternatives?))\b"
    r"|\b(?:answers?|options?|choices?|value|result)\b[^.\n]{0,30}?\b(?:is|are|was)(?: not|n't) (?:listed"
    r"|(?:explicitly |directly )?"
    r"(?:given|provided|included|present|available|mentioned|stated|in|among|one of|an option))\b"
    r"|\bnone of (?:these|them)\s(?:is|are|seems?|fits?|appl)|\A\W*none\W*\Z"
    r"|\bno correct (?:answer|option|choice)|\ball (?:of )?the (?:options|choices|answers) (?:are"
    r"|seem) (?:incorrect|wrong|false)"
    r"|(?:以上|上述|所有|四个|这些|给出的|全部|[A-D]、[A-D]、[A-D]、[A-D]|各)(?:的)?(?:四个|所有)?(?:选项|答案"
    r"|说法|选择)?[^。\n]{0,4}(?:都|均|皆|全)"
    r"(?:不(?:正确|对|是|符合|成立)|错|没有)"
    r"|没有(?:一个|任何)?(?:正确|合适|符合题意|符合)?的?(?:一个|任何)?(?:选项|答案)|无正确(?:答案|选项)"
    r"|选项(?:都|均|全)不(?:正确|对)"
    r"|(?:不在|没有在|未在)(?:给出的|所给|以上|题目的?)?选项|没有给出正确|无法从(?:给出|所给|以上|给定)的?选项",
    _EN,
)
"""The model says that no option fits."""

NONE_IS_WEAK: Final = re.compile(r"\b(?:other|remaining)\b|其他|其它|其余|另外", _EN)
"""In `none of the other options` the answer stands elsewhere."""

REFUSAL: Final = re.compile(
    r"\bi(?:'m| am)?\s(?:\w{1,14}ly\s|also |still |just |must |have to |do |would |afraid i |sorry,? but i "
    r"|apologi[sz]e,? but i )*"
    r"(?:cannot|can't|can not|could not|couldn't|unable to|not able to|won't|will not|must decline|decline to"
    r"|declines? to"
    r"|refrain from|not comfortable|not feel comfortable|don't feel comfortable|refuse to|not going to"
    r"|not qualified to)\s"
    r"(?:\w{1,14}ly\s|be\s|in good \w{1,12}\s){0,2}(?:answer|provid|select|choos|determin|giv|offer|assist"
    r"|help|fulfil|mak|engag|comment"
    r"|respond|complet|express|recommend|pick|participat|suggest|tak|agree|endorse|support|say|identify|judg"
    r"|rat|decid"
    r"|shar|discuss|satisfy|comply|advis|promot|condon|confirm|speculat|create|generate|write|do|accept|support)"
    r"|\bas an? (?:\w{1,12},? (?:and )?){0,4}?(?:ai|artificial intelligence|language model|assistant|llm)\b"
    r"|\bi (?:do not|don't) (?:actually )?(?:have|hold|possess) (?:any |the |an? )?(?:personal|opinion"
    r"|feelings|beliefs|preferences"
    r"|enough|sufficient|access|ability|emotions|political|religious)"
    r"|\b(?:it is|it's|it would be|would be) (?:not |in)(?:appropriate|ethical|possible (?:for me|to (?:answer"
    r"|determine))|within my)"
    r"|\b(?:question|it) (?:cannot|can't) be answered|\bi (?:sincerely |must )?apologi[sz]e|\bi(?:'m"
    r"| am) (?:so |very )?sorry|\bi'm just an ai"
    r"|无法(?:回答|作答)|根据(?:已知|所给|提供|上述|现有)[^。\n]{0,10}(?:无法|不能)|作为(?:一个|一名"
    r"|一款)?(?:AI|人工智能|语言模型|大模型|大语言模型|助手)"
    r"|(?:我|本人|^|[,。!\n]很?抱歉,?|因此|所以|故)(?:也|们|暂时|目前|还)?(?:无法|不能|没法|不便|无权"
    r"|拒绝)(?:为您|给您|对此|直接)?"
    r"(?:回答|作答|选择|提供|确定|判断|给出|评论|讨论|协助|做出)"
    r"|(?:^|\n)\s*(?:很|非常)?(?:抱歉|对不起)|我没有(?:个人|足够)",
    _EN,
)
"""The model declines to answer."""

REFUSAL_WORDS: Final = (
    *("cannot", "can't", "can not", "could not", "couldn't", "unable", "not able", "won't", "will not", "decline"),
    *("refrain", "comfortable", "refuse", "not going", "not qualified", " ai", "artificial", "language model", "llm"),
    *("assistant", "do not", "don't", "appropriate", "ethical", "possible", "within my", "apologi", "sorry"),
    *("无法", "不能", "没法", "不便", "无权", "拒绝", "抱歉", "对不起", "作为", "没有"),
)
"""One of these stands in whatever `REFUSAL` finds."""

NONE_OPTION: Final = re.compile(
    r"none of (?:the|these)|no correct answer|neither of|not listed|以上(?:选项|答案|说法)?(?:都|均|皆)(?:不"
    r"|错)|都不(?:对|正确|是)|无正确答案|没有正确",
    _EN,
)
"""An option that itself says that no other fits."""

# --- words that call an option right or wrong, and questions that want the wrong one ------------------------------

WRONG: Final = re.compile(
    r"(?:不|非|没有?|未)(?:是|太|够|完全|能|会|应|应该|必然|一定|可能|甚)?(?:正确|对|符合|合理|恰当|准确|妥当"
    r"|属于|成立|合适|适合|满足|选|妨碍|可取|当选|得体|恰切)"
    r"|不合|错误|有误|错的|错[,。;\n]|排除[,。;\n]|可以排除|予以排除[。\n]|不当"
    r"|以偏概全|过于绝对|偷换概念|张冠李戴|无中生有|曲解|颠倒|无关|不相关|不选|\b(?:incorrect|wrong|false"
    r"|inaccurate|untrue|invalid|irrelevant|unlikely|eliminated|unacceptable|unsuitable|inappropriate"
    r"|improper|untenable|excluded"
    r"|ruled out|discarded|dismissed|rejected|out of the question)\b"
    r"|(?:\bnot|n't|\bcannot|\bnever|\bneither)\b",
    _EN,
)
RIGHT: Final = re.compile(
    r"(?<!不)(?<!不完全)(?:正确|符合|最合适|最恰当|最准确|合理|对的|最佳|当选|更为准确|更合适|更为合适|更准确"
    r"|成立|说得对|对(?=[。,;!]))"
    r"|(?<!in)(?<!\w)(?<!partly )(?<!partially )(?<!not )(?:correct(?:ly)?|right|true|the best|best"
    r"|the most \w{1,20}|accurate(?:ly)?)\b",
    _EN,
)
SENTENCE_END: Final = re.compile(r"[。\n!?]|\.(?=\s|$)|;")
"""Where a clause about a letter ends."""

ASKS_FOR_WRONG: Final = re.compile(
    r"(?:不正确|错误|不属于|不符合|有误|不恰当|不合适|不包括|不合理|不准确|不成立|不可能|不应|不能|不妥"
    r"|不当)的?(?:是|一项|选项|表述|说法|叙述|做法|理解|组)"
    r"|哪(?:个|项|一项|一个|种|些|一)?[^。\n,]{0,12}(?:不正确|错误|不属于|不符合|有误|不是)"
    r"|(?<!, )\b[Ww]hich\b(?:\s[\w,]{1,16}){0,8}?\s(?:is|are|was|were|does|do|did|would|could|can|has|have)\s(?:not"
    r"|least|incorrect"
    r"|false|untrue|wrong)\b|\ball\b[^?.\n]{0,90}?\bexcept\b|\bEXCEPT\b|\bNOT\b"
    r"|\b(?:incorrect|false|wrong|untrue)\s(?:statement|option|one|description)\b"
)
"""A question that wants the one statement that does not hold."""

ASKS_FOR_FALSE: Final = re.compile(
    r"\b(?:which|what|identify|find|mark|choose|select|pick|statements?|options?|following|one)\b[^?!\n]{0,120}?"
    r"(?<!right or )(?<!true or )(?<!correct or )\b(?:incorrect|false|wrong|untrue|inaccurate|not (?:true"
    r"|correct))\b(?! or\b)",
    _EN,
)
"""The same in English, where an option called wrong is the answer: of `which is NOT ...` that says the contrary."""

IDEOGRAM: Final = re.compile(r"[\u3400-\u9fff]")
