"""What judges say when they call two equal, as patterns on folded text: data for `rating_preference`."""

from __future__ import annotations


def tied(other: str) -> str:
    """Sentences that call the two equal in all, not in one respect.

    Args:
        other: a pattern for either of the two.
    """
    both = rf"(?:both|they|the two|these two|{other},? (?:and|&) {other})(?:\s(?:\w{{1,14}}\s?){{0,3}})?"
    equal = (
        r"(?:are|were|perform|performed|seem|appear|is|do|did)\s(?:\w{2,14}ly\s|about\s|all\s|roughly\s|both\s){0,2}"
        r"(?:(?:equal(?:ly)?|similarly|comparably|just as)\s(?:good|bad|well|poor(?:ly)?|strong|valid|helpful"
        r"|effective|matched)|tied|on par|evenly matched|equal(?=[.,;!\n]|\Z| in (?:quality|overall))"
        r"|(?:of )?(?:about |roughly )?(?:equal"
        r"|the same|similar|comparable) quality|comparable(?= in (?:quality|overall)|[.;!\n]|\Z)|identical(?=[.;!\n]"
        r"|\Z| in quality))"
    )
    return (
        rf"{both}\s?{equal}|\b(?:it's|it is|this is|i(?:'d|'ll| would| will)?\s(?:call|declare|rate|consider) (?:it"
        rf"|this))\s(?:therefore |thus |basically |essentially |effectively |really )?a (?:\w{{1,12}} )?(?:tie|draw"
        rf"|toss-up)\b"
        rf"|\bi (?:have|see) no (?:clear |strong |real )?preference\b|\bno (?:significant|meaningful|real|clear|notable"
        rf"|major|substantial|noticeable|discernible) differences?\b(?!\s(?:in|of|as|with"
        rf"|regarding)\b(?!\s(?:overall |the )?quality))"
        rf"|没有?(?:明显|显著|实质性?|太大|本质)的?(?:差别|差异|区别)"
        rf"|\bneither\b[^.\n]{{0,40}}?\b(?:is|was|stands out as|seems|outperforms"
        rf"|wins)\b[^.,\n]{{0,20}}?\b(?:better|superior|winner|best|stronger|other|wins)\b|\b(?:there is"
        rf"|there's) no (?:winner|preference)\b|\b(?:there is|there's"
        rf"|with)?\s?no clear (?:winner|preference|favou?rite)\b"
        rf"|(?:{other}\s?(?:和|与|跟|同)\s?{other}|两个?(?:回答|模型|答案|者|回复|输出|助手|摘要|份回答|篇摘要|方)?"
        rf"|二者|双方)(?:的)?[^。;\n]{{0,12}}?(?:一样好|同样好|不[相分]上下|难分(?:高下|伯仲|胜负)|旗鼓相当|水平相当"
        rf"|质量相当|(?:整体|总体|质量|水平)[^。,;\n]{{0,4}}相当|平局|打平|平手|同样(?:差|优秀)|一样差)|判(?:为"
        rf"|定为)?平局"
    )
