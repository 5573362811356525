"""Code of replies against a test of the row: what passes, what the test may use, and replies that cheat or do harm."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from steelyard import ConfigError, Output, Sample, evaluate
from steelyard.building.build import build_row_scorer, build_scorer
from steelyard.constraints import check_options
from steelyard.errors import DataError
from steelyard.scorers import PythonTest
from steelyard.scorers.python_test import code_in
from steelyard.sql.sandbox import Sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code is confined on Linux only")

TEST = """
SECRET = 20260110
def check(f):
    assert f(1, 2) == 3, "sum"
    assert f(-1, 1) == 0
    assert f(20, 22) == 42
"""


def outcome_of(code, **options):
    scorer = PythonTest(**{"test": TEST, "call": "check(add)", **options})
    check_options(scorer)
    return scorer(Sample("1", "?"), Output(f"Here:\n```python\n{code}\n```\nDone."), Sandbox())


def test_the_code_of_a_reply_passes_by_returning_what_is_expected():
    assert outcome_of("def add(a, b):\n    return a + b").value == 1
    wrong = outcome_of("def add(a, b):\n    return a - b")
    assert (wrong.value, wrong.reason) == (0, "AssertionError in line 4 of the test: sum")


USES = {
    "several kinds of data": (
        """def f(): return [1, 2.5, 1j, 'é', b'x', None, True, (1,), {2}, frozenset({3}), {'a': {1: [2]}}]""",
        """assert f() == [1, 2.5, 1j, 'é', b'x', None, True, (1,), {2}, frozenset({3}), {'a': {1: [2]}}]
assert type(f()[7]) is tuple""",
    ),
    "a list sorted in place": (
        """def f(x): x.sort()""",
        """x = [3, 1]
assert f(x) is None
assert x == [1, 3]""",
    ),
    "a generator": (
        """def f(n):
    yield from range(n)""",
        """assert list(f(3)) == [0, 1, 2]""",
    ),
    "an exception": (
        """def f(x):
    raise ValueError('no')""",
        """try:
    f(1)
except ValueError as error:
    assert str(error) == 'no'
else:
    raise AssertionError""",
    ),
    "a class": (
        """class Stack:
    def __init__(self): self.items = []
    def push(self, x): self.items.append(x)
    def __len__(self): return len(self.items)
    def __getitem__(self, n): return self.items[n]""",
        """s = Stack()
s.push(5)
assert len(s) == 1 and s[0] == 5 and s.items == [5] and list(s) == [5] and s""",
    ),
    "objects that are equal": (
        """from dataclasses import dataclass
@dataclass
class P:
    x: int""",
        """assert P(1) == P(1)
assert P(1) != P(2)
assert str(P(1)) == 'P(x=1)'""",
    ),
    "named arguments and large numbers": (
        """def f(*, n): return n ** 50""",
        """assert f(n=-10**9) == 10**450""",
    ),
    "the standard library": (
        """import math
def f(x): return math.gcd(x, 12)""",
        """import math
assert f(18) == math.gcd(18, 12)""",
    ),
    "subclasses of plain data": (
        """from collections import Counter, namedtuple
P = namedtuple('P', 'x y')
def f(): return P(1, 2), Counter('aab')""",
        """point, counts = f()
assert point == (1, 2) and point.x == 1 and counts == {'a': 2, 'b': 1}""",
    ),
    "operators of a class": (
        """class V:
    def __init__(self, x): self.x = x
    def __sub__(self, other): return V(self.x - other.x)
    def __rmul__(self, n): return V(self.x * n)
    def __neg__(self): return V(-self.x)
    def __eq__(self, other): return isinstance(other, V) and self.x == other.x
    def __le__(self, other): return self.x <= other.x""",
        """assert V(1) - V(2) == -V(1) and 3 * V(2) == V(6) and V(1) <= V(1)
assert isinstance(V(1), V) and issubclass(V, V) and not isinstance(1, V)""",
    ),
    "items and attributes that it sets": (
        """class Bag(dict): pass""",
        """bag = Bag()
bag['a'], bag['b'], bag.size = 1, 2, 5
del bag['b']
assert bag['a'] == 1 and 'b' not in bag and bag.size == 5""",
    ),
    "exceptions of the reply's own": (
        """class Base(Exception): pass
class NotFound(Base): pass
def f(): raise NotFound('x')""",
        """for kind in (NotFound, Base):
    try:
        f()
    except kind as error:
        assert str(error) == 'x'
    else:
        raise AssertionError""",
    ),
    "numbers, days and collections of the library": (
        """from decimal import Decimal
from datetime import date
def f(day): return [Decimal('1.10'), day.replace(day=2), day - date(2023, 12, 31)]
from collections import Counter
def turn(queue): queue.append(queue.popleft()); return queue
def count(words): return Counter(words)
def forget(entries): entries.popitem(last=False)""",
        """from decimal import Decimal
from datetime import date, timedelta
assert f(date(2024, 1, 1)) == [Decimal('1.1'), date(2024, 1, 2), timedelta(days=1)]
from collections import OrderedDict, deque
queue, entries = deque([1, 2]), OrderedDict(a=1, b=2)
assert turn(queue) == deque([2, 1]) == queue
assert count('abb').most_common(1) == [('b', 2)]
forget(entries)
assert entries == OrderedDict(b=2)""",
    ),
    "exceptions and coroutines of the reply's own, handed back to it": (
        """import asyncio
class Slow(Exception): pass
def is_slow(kind): return issubclass(kind, Slow)
async def later(): print('now'); return 3
def run(job): return asyncio.run(job)""",
        """import asyncio, contextlib, io
assert is_slow(Slow) and run(later()) == 3
with contextlib.redirect_stdout(io.StringIO()) as printed: asyncio.run(later())
assert printed.getvalue() == 'now\\n'""",
    ),
    "endless generators, coroutines, what it enters and prints": (
        """from contextlib import contextmanager
def count():
    n = 0
    while True: yield (n := n + 1)
async def later(): return 3
@contextmanager
def opened(): yield 5
def hello(): print('hi')""",
        """import asyncio, contextlib, io, itertools
numbers = count()
assert next(numbers) == 1 and list(itertools.islice(numbers, 2)) == [2, 3]
assert asyncio.run(later()) == 3
with opened() as five: assert five == 5
with contextlib.redirect_stdout(io.StringIO()) as printed: hello()
assert printed.getvalue() == 'hi\\n'""",
    ),
    "a constant": (
        """LIMIT = 7""",
        """assert LIMIT == 7""",
    ),
}


@pytest.mark.parametrize("use", USES)
def test_a_test_may_use(use):
    code, test = USES[use]
    score = outcome_of(code, test=test, call="")
    assert (score.value, score.reason) == (1, "")


def test_a_test_that_hands_over_a_function_is_an_error_of_the_sample():
    run = evaluate(
        lambda _: "```python\ndef f(g): return g(1)\n```",
        [Sample("1", "?", metadata={"test": "assert f(lambda x: x) == 1"})],
        [build_scorer({"python_test": "{{test}}"}, "scorers[0]")],
        on_broken="return",
    )
    (record,) = run.records()
    assert "a function cannot be handed to the reply's code" in record.failure.message


def test_a_test_that_skips_itself_is_an_error_of_the_sample():
    test = CASES.replace("self.assertEqual", "self.skipTest('no network'); self.assertEqual")
    with pytest.raises(DataError, match="the test skips itself: no network"):
        outcome_of("def add(a, b): return a + b", test=test, call="")


@pytest.mark.parametrize(
    ("claim", "test"),
    [
        ("__contains__(self, x): return True", "assert 3 in f() and 4 in f()"),
        ("__eq__(self, x): return True", "assert f() == f()"),
        ("__sub__(self, x): return 0", "assert f() - 3 == 0"),
        ("__sub__(self, x): return type('Zero', (int,), {})()", "assert f() - 3 == 0"),
        ("__ge__(self, x): return True", "assert f() >= 3"),
        (
            "__contains__(self, x):\n        return __import__('os')._exit(0) if isinstance(x, str) else True",
            "assert 3 in f()",
        ),
    ],
)
def test_an_object_that_says_so_of_everything_passes_nothing(claim, test):
    assert outcome_of(f"class All:\n    def {claim}\ndef f(): return All()", test=test, call="").value == 0


def test_an_object_that_says_so_of_some_passes():
    code = (
        "class Some:\n    n = 1\n    def __contains__(self, x): return x >= 3\n    def __eq__(self, x): return x.n == 1"
    )
    test = "assert 3 in f() and 2 not in f() and f() == f()"
    assert outcome_of(f"{code}\ndef f(): return Some()", test=test, call="").value == 1


HOSTILE = json.loads((Path(__file__).parent / "data" / "hostile_python.json").read_text(encoding="utf-8"))
"""What a reply does, and its code."""
ENDLESS = {"loops for ever", "loops in the function", "loops in C", "a regular expression that never ends", "sleeps"}
"""They burn all the time that they are given."""


def test_there_are_many_hostile_replies():
    assert len(HOSTILE) >= 60


@pytest.fixture(scope="module")
def _the_next_is_tested_as_before():
    yield
    assert outcome_of("def add(a, b):\n    return a + b").value == 1


@pytest.mark.usefixtures("_the_next_is_tested_as_before")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_reply_does_not_pass_and_does_no_harm(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_TEST_KEY", "secret")
    marked, mark = tmp_path / "MARKED", tmp_path / "MARK"
    marked.write_text("kept")
    code = HOSTILE[name].replace("MARKED", "\x00").replace("MARK", str(mark)).replace("\x00'", f"{marked}'")
    started = time.monotonic()
    score = outcome_of(code, timeout_s=0.5 if name in ENDLESS else 1.0, memory_mib=256)
    assert score.value in {0.0, None}, score
    assert time.monotonic() - started < 20
    assert not mark.exists()
    assert marked.read_text() == "kept"


@pytest.mark.parametrize("first", range(25, 33))
def test_whatever_numbers_its_descriptors_get_a_right_reply_passes(first):
    held = []
    try:
        while not held or held[-1] < first - 1:
            held.append(os.dup(0))
        assert outcome_of("def add(a, b):\n    return a + b").value == 1
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_no_process_is_left():
    for name in ("ignores signals", "sleeps", "starts threads"):
        outcome_of(HOSTILE[name], timeout_s=0.5)
    lines = [Path(f"/proc/{pid}/cmdline") for pid in os.listdir("/proc") if pid.isdigit()]  # noqa: PTH208
    left = []
    for line in lines:
        try:
            command = line.read_bytes()
        except OSError:
            continue
        if b"code_worker" in command and f"{os.getpid()}".encode() in (line.parent / "stat").read_bytes().split():
            left.append(command)
    assert left == []


def test_the_test_s_own_end_before_its_last_line_is_no_pass():
    assert outcome_of("def add(a, b): return 0", test="import sys\nsys.exit(0)\nassert False", call="").value == 0
    assert outcome_of("def add(a, b): return 0", test="import os\nos._exit(0)\nassert False", call="").value == 0


CASES = """
from unittest import TestCase
class Sums(TestCase):
    def setUp(self): self.one = 1
    def test_sum(self): self.assertEqual(add(self.one, 2), 3)
"""


SESSION = """
Sums:

    >>> add(1, '2')   # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    TypeError: no
    >>> print(add(1, 2))
    3
"""


@pytest.mark.parametrize(
    "test",
    [
        "def test_sum():\n    assert add(1, 2) == 3",
        "def test_none():\n    assert add(0, 0) == 0\ndef test_sum(n=3):\n    assert add(1, 2) == n",
        "def test_sum():\n    assert add(1, 2) == 3\nif __name__ == '__main__':\n    test_sum()",
        CASES,
        CASES.replace("class Sums(TestCase):", "class Base(TestCase): pass\nclass Sums(Base):"),
        ">>> import math\n>>> one = math.gcd(1, 2)\n>>> add(one,\n...     2)\n3",
        SESSION,
    ],
)
def test_functions_of_pytest_and_classes_of_unittest_are_run(test):
    right, wrong = (outcome_of(f"def add(a, b): return {sum_}", test=test, call="") for sum_ in ("a + b", "a - b"))
    assert (right.value, wrong.value) == (1, 0)


@pytest.mark.parametrize(
    ("test", "shadow"),
    [
        ("assert abs(add(1, 2) - 3) < 1e-9", "def abs(x): return 0"),
        ("assert all(add(n, 1) == n + 1 for n in range(4))", "def all(x): return True"),
        ("assert len(str(add(50, 50))) == 3", "def len(x): return 3"),
    ],
)
def test_a_reply_cannot_give_the_test_other_builtins(test, shadow):
    assert outcome_of(f"def add(a, b): return 0\n{shadow}", test=test, call="").value == 0


def test_a_reply_may_be_asked_for_a_function_that_is_called_like_a_builtin():
    assert outcome_of("def sum(a, b): return a + b\nn = 4", test="assert sum(1, 2) == 3", call="").value == 1


def test_a_test_that_is_called_is_run_once():
    test = "calls = []\ndef test_sum():\n    calls.append(1)\n    assert (add(1, 2), calls) == (3, [1])"
    assert outcome_of("def add(a, b): return a + b", test=test, call="test_sum()").value == 1


def test_a_reply_may_use_asyncio():
    code = "import asyncio\nasync def one(n): return n\ndef add(a, b): return asyncio.run(one(a)) + asyncio.run(one(b))"
    assert outcome_of(code).value == 1


SUM = "def test_sum():\n    assert add(0, 0) == 0"


@pytest.mark.parametrize(
    ("test", "call", "message"),
    [
        ("def check(f): pass", "check(add)", "it asserts nothing"),
        ("def check(f):\n    assert f(1, 2) == 3", "", "nothing calls check"),
        ("def check(f):\n    assert f(1)\nif __name__ == '__main__':\n    check(add)", "", "nothing calls check"),
        (f"{SUM}\nasync def test_sums():\n    assert add(1, 2) == 3", "", "nothing calls test_sums,"),
        (f"{SUM}\ndef test_sums(n):\n    assert add(1, 2) == n", "", "nothing calls test_sums,"),
        (
            "import unittest\nclass Sums(unittest.TestCase):\n    def check(self):\n        assert add(1, 2) == 3",
            "",
            "nothing calls",
        ),
        (f"{SUM}\nclass TestSums:\n    def test(self):\n        assert add(1, 2) == 3", "", "nothing calls TestSums,"),
        ("import pytest\nfrom solution.sums import add\nassert add(1, 2) == 3", "", "it imports pytest, solution;"),
        ("assert (", "", "this is not Python code"),
        (">>> add(1, 2)", "", "this is not Python code"),
        (">>> import numpy\n>>> add(1, 2)\n3", "", "it imports numpy;"),
        (CASES.replace("    def test", "    @unittest.skip('later')\n    def test"), "", "test_sum is skipped"),
        (CASES.replace("class", "@unittest.expectedFailure\nclass"), "", "Sums is skipped, or expected to fail"),
        ("assert True", "check(", "this is not Python code"),
    ],
)
def test_a_test_asserts_something_and_is_python(test, call, message):
    with pytest.raises(ConfigError, match=message):
        check_options(PythonTest(test, call))


def test_a_row_brings_its_test_only_where_the_configuration_names_it():
    with pytest.raises(ConfigError, match="the scorer 'python_test' runs code"):
        build_row_scorer({"python_test": "assert True"}, "rows.jsonl, row 1")
    given = {"python_test": {"test": "{{test}}", "call": "check({{entry_point}})"}}
    run = evaluate(
        lambda _: "def add(a, b):\n    return a + b",
        [Sample("1", "?", metadata={"test": TEST, "entry_point": "add"})],
        [build_scorer(given, "scorers[0]")],
    )
    assert run.summary().score("python_test").headline.value == 1


def test_the_code_is_the_block_that_defines_what_the_test_uses():
    use = "```python\nfrom solution import f\nprint('a long example of its use', f(), f(), f())\n```"
    parts = ["```python\nimport os\n```", "```python\ndef f(): return os.sep\n```", use]
    assert code_in("\nThen:\n".join(parts), {"f"}) == "import os\n\ndef f(): return os.sep"
    better = "```python\ndef f(): return 2\n```"
    assert code_in("\nBetter:\n".join([*parts, better]), {"f"}).endswith("def f(): return 2")


def test_the_code_is_the_longest_block_that_can_be_parsed():
    assert code_in("```\npip install x y\n```\n```python\nx = 1\n```") == "x = 1"


def test_fences_in_a_docstring_end_no_block():
    code = 'def f():\n    """As in:\n\n    ```python\n    f()\n    ```\n    """\n    return 1'
    assert code_in(f"So:\n```python\n{code}\n```\nUse it:\n```\nf()\n```", {"f"}) == code
    assert code_in("def f(): return 1") == "def f(): return 1"
    assert code_in("Add them up.") == ""
    assert code_in("Here it is:\n\ndef f():\n    return 1\n\nThat is all.") == "def f():\n    return 1"
    assert code_in("So:\n\n    import os\n    def f(): return 1\n") == "import os\ndef f(): return 1"
    score = PythonTest("assert True")(Sample("1", "?"), Output("Add them up."), Sandbox())
    assert (score.outcome, score.detail) == ("unparsed", {"kind": "none"})


@pytest.mark.parametrize(
    "code",
    [
        "class Stack(\n    Base, Sized\n):\n    def push(self): pass",
        "class Stack (Base):\n    depth = 3\n\n    def push(self): pass",
        "MOD = 10**9 + 7\nLIMIT: int = 5\n\ndef f(x): return x % MOD",
    ],
)
def test_code_without_a_fence_begins_with_its_first_line(code):
    assert code_in(f"Here it is:\n\n{code}\n\nIt uses x = 5 as a limit.") == code


def test_a_sentence_like_an_assignment_hides_no_code():
    assert code_in("size = 3 apples\n\ndef f(): return 1") == "def f(): return 1"
    assert code_in("N = 10\n\nThe function:\n\ndef f(): return 1") == "def f(): return 1"


BEGUN = 'def add(a, b):\n    """Add two numbers."""\n'


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("    total = a + b\n    return total\n", 1),
        ("total = a + b\n    return total", 1),
        ("```python\n    return a + b\n```", 1),
        ("    return a + b\n\nThis adds them.", 1),
        ("    return a - b\n", 0),
        ("def add(a, b):\n    return a + b", 1),
    ],
)
def test_a_completion_goes_on_with_the_code_of_the_input(reply, value):
    score = PythonTest("assert add(1, 2) == 3")(Sample("1", BEGUN), Output(reply), Sandbox())
    assert (score.outcome, score.value) == ("scored", value)


def test_what_is_no_code_goes_on_with_nothing():
    score = PythonTest("assert add(1, 2) == 3")(Sample("1", BEGUN), Output("I cannot do that."), Sandbox())
    assert score.outcome == "unparsed"


@pytest.mark.parametrize(("reply", "value"), [("def add(a, b): return a + b", 1), ("def add(a, b): return 3", 0)])
def test_the_test_may_be_a_list_of_assertions(reply, value):
    rows = [{"text": "Add two numbers.", "test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]}]
    run = evaluate(lambda _: reply, rows, [{"python_test": {"test": "{{test_list}}"}}])
    assert run.summary().score("python_test").headline.value == value
