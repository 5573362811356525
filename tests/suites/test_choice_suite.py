"""How an exam is asked: orders, examples, and what is found out before the first call."""

import asyncio
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from steelyard import Baseline, ConfigError, Options, Prompt, Sample, Scripted, compare
from steelyard.config.load import load
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.evaluation import aevaluate_suite, evaluate_suite
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.evaluate import RunConfig
from steelyard.prompts.reply_schema import response_format
from steelyard.registry import describe
from steelyard.suites.choice.few_shot import FewShot, gives_away
from steelyard.suites.choice.suite import ChoiceSuite
from steelyard.targets.http import HttpEndpoint
from steelyard.targets.likelihood import Likelihood

EXAMPLES = "zh/choice_examples"


def rows_of(groups=2, each=4):
    return [
        {
            "id": f"{group}{no}",
            "question": f"question {no} of {group}",
            "options": [f"w{no}", f"x{no}", f"y{no}", f"z{no}"],
            "answer": "ABCD"[no % 4],
            "category": group,
        }
        for group in "gh"[:groups]
        for no in range(each)
    ]


def write(path, rows):
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def exam(tmp_path, rows=None, **keys):
    path = write(tmp_path / "exam.jsonl", rows_of() if rows is None else rows)
    targets = keys.pop("targets", None) or {"m": Prompt(Scripted(default="A"), keys.pop("template", "en/choice"))}
    return ChoiceSuite(SampleFiles(path), targets, **keys)


def shown(suite, sample, name="m"):
    return suite.targets[name].messages(sample)[-1]["content"]


# -- orders


def test_as_given_nothing_is_changed(tmp_path):
    suite = exam(tmp_path).build()
    first = next(iter(suite.samples))
    assert (first.id, first.metadata, first.cluster) == ("g0", {}, "")
    assert suite.source == SampleFiles(tmp_path / "exam.jsonl")


def test_rotations_are_counted_in_a_dry_run_and_asked_once_each(tmp_path):
    suite = exam(tmp_path, orders="rotations").build()
    assert "8 questions are asked in all rotations of their options" in suite.notes
    (result,) = asyncio.run(estimate(suite, store="s.db"))
    assert (result.records, result.calls) == (32, 32)
    (run,) = evaluate_suite(suite, how=RunConfig(store="s.db"))
    records = list(run.records())
    assert len(records) == 32
    assert run.manifest["samples"]["source"]["orders"] == "rotations"
    # Who always says A solves each question in exactly one of its rotations.
    solved = [record.sample.cluster for record in records if record.scores[0].value == 1]
    assert sorted(solved) == sorted({record.sample.cluster for record in records})


def test_a_limit_counts_questions_and_not_rotations(tmp_path):
    write(tmp_path / "exam.jsonl", rows_of())
    suite = ChoiceSuite(
        SampleFiles(tmp_path / "exam.jsonl", first=3), {"m": Baseline("random")}, orders="rotations"
    ).build()
    assert len({sample.cluster for sample in suite.samples}) == 3
    assert len(list(suite.samples)) == 12


def test_a_shuffled_exam_has_the_seed_of_the_options_or_its_own(tmp_path):
    def orders(**keys):
        return [sample.metadata["order"] for sample in exam(tmp_path, orders="shuffled", **keys).build().samples]

    assert orders(options=Options(seed=3)) == orders(orders_seed=3)
    assert orders(orders_seed=3) != orders(orders_seed=4)
    source = exam(tmp_path, orders="shuffled", orders_seed=4).build().source
    assert (source["orders"], source["orders_seed"]) == ("shuffled", 4)


def test_questions_that_keep_their_order_are_counted_and_named(tmp_path):
    rows = rows_of()
    rows[2]["options"][3] = "all of the above"
    suite = exam(tmp_path, rows, orders="rotations").build()
    assert "1 question keeps the order of its options, which refer to each other: g2" in suite.notes
    assert len(list(suite.samples)) == 7 * 4 + 1


def test_a_rotated_run_is_resumed_and_compared_by_rotation(tmp_path):
    suite = exam(
        tmp_path, orders="rotations", targets={"a": Baseline("random", seed=1), "b": Baseline("random", seed=2)}
    ).build()
    first, second = evaluate_suite(suite, how=RunConfig(store="s.db"))
    assert {record.sample.id for record in first.records()} == {record.sample.id for record in second.records()}
    pair = compare(first, second).pairs[0]
    assert (pair.overlap.n_paired, pair.overlap.changed_content, pair.overlap.unpaired) == (32, 0, ())
    with pytest.raises(ConfigError, match="nothing to resume"):
        evaluate_suite(suite, how=RunConfig(store="s.db", resume=first.id))


def test_another_seed_is_another_dataset_for_a_resume(tmp_path):
    def answer(sample):
        if sample.id == "h3":
            raise ValueError("broken")
        return "A"

    suite = exam(tmp_path, orders="shuffled", targets={"f": answer}, options=Options(max_errors=0)).build()
    (run,) = evaluate_suite(suite, how=RunConfig(store="s.db"), on_broken="return")
    assert run.state == "broken"
    other = exam(
        tmp_path, orders="shuffled", orders_seed=9, targets={"f": answer}, options=Options(max_errors=0)
    ).build()
    with pytest.raises(ConfigError, match=r"samples\.digest"):
        evaluate_suite(other, how=RunConfig(store="s.db", resume=run.id))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"orders": "rotation"}, "orders: expected as_given, shuffled, rotations"),
        ({"orders_seed": 4}, "belongs to orders: shuffled"),
        ({"orders": "shuffled", "orders_seed": -1}, "orders_seed"),
    ],
)
def test_orders_that_cannot_be_meant_are_refused(tmp_path, keys, said):
    with pytest.raises(ConfigError, match=said):
        exam(tmp_path, **keys).build()


# -- examples


def example_rows(n=3, group="g"):
    return [
        {"question": f"example {no} of {group}", "options": ["p", "q"], "answer": "AB"[no % 2], "category": group}
        for no in range(n)
    ]


def test_examples_of_a_file_stand_before_the_question_and_are_of_its_group(tmp_path):
    dev = write(tmp_path / "dev.jsonl", example_rows(3, "g") + example_rows(3, "h"))
    suite = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(dev, n=2)).build()
    for sample in suite.samples:
        text = shown(suite, sample)
        assert re.findall(r"example \d of (\w)", text) == [sample.group] * 2
        assert text.index("example") < text.index(sample.input)
        assert "答案：" in text


def test_a_second_sheet_of_the_same_workbook_may_hold_them(tmp_path):
    book = Workbook()
    for title, questions in (("test", ["q1", "q2"]), ("dev", ["e1", "e2", "e3"])):
        sheet = book.create_sheet(title)
        sheet.append(["题目", "A", "B", "答案", "解析"])
        for text in questions:
            sheet.append([text, "yes", "no", "A", f"because of {text}"])
    del book["Sheet"]
    book.save(tmp_path / "exam.xlsx")
    files = SampleFiles(tmp_path / "exam.xlsx", sheets=("test",))
    for columns, reasons in (({}, []), ({"rationale": "解析"}, ["e1", "e2", "e3"])):
        few_shot = FewShot(tmp_path / "exam.xlsx", ("dev",), columns)
        suite = ChoiceSuite(files, {"m": Prompt(Scripted(), EXAMPLES)}, few_shot=few_shot).build()
        text = shown(suite, next(iter(suite.samples)))
        assert sorted(re.findall("题目：(e.)", text)) == ["e1", "e2", "e3"]
        assert sorted(re.findall("because of (e.)", text)) == reasons
        assert "prompts show 3 examples, not 5: there are no more" in suite.notes


def test_groups_with_too_few_examples_are_filled_up_and_noted(tmp_path):
    dev = write(tmp_path / "dev.jsonl", example_rows(3, "g") + example_rows(1, "h"))
    suite = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(dev, n=2)).build()
    assert "groups with fewer than 2 examples of their own, completed from other groups: h" in suite.notes
    last = list(suite.samples)[-1]
    assert re.findall(r"example \d of (\w)", shown(suite, last)) == ["h", "g"]
    mixed = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(dev, n=4, per_group=False)).build()
    assert not any("filled up" in note for note in mixed.notes)
    assert sorted(re.findall(r"example \d of (\w)", shown(mixed, last))) == ["g", "g", "g", "h"]


def test_held_out_examples_are_not_asked_and_are_counted(tmp_path):
    suite = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(held_out=1, n=1)).build()
    samples = list(suite.samples)
    assert "2 questions are held out as examples and not asked; 6 are asked" in suite.notes
    assert len(samples) == 6
    for sample in samples:
        example = re.search(r"题目：(question \d of (\w))", shown(suite, sample))
        assert example[2] == sample.group
        assert example[1] not in {entry.input for entry in samples}
    assert suite.source["few_shot"]["held_out"] == 2
    with pytest.raises(ConfigError, match="leaves no sample of 8 to ask"):
        exam(tmp_path, template=EXAMPLES, few_shot=FewShot(held_out=4)).build()


def test_what_is_held_out_depends_on_the_seed_and_not_on_the_order_of_the_file(tmp_path):
    def asked(rows, seed):
        suite = exam(tmp_path, rows, template=EXAMPLES, few_shot=FewShot(held_out=2, seed=seed)).build()
        return {sample.input for sample in suite.samples}

    rows = rows_of(each=8)
    assert asked(rows, 1) == asked(rows[::-1], 1)
    assert any(asked(rows, 1) != asked(rows, seed) for seed in (2, 3))


@given(
    st.lists(
        st.tuples(st.sampled_from("pqr"), st.sampled_from(["", "c1", "c2"]), st.sampled_from(["x", "y"])),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 3),
    st.sampled_from(["as_given", "rotations", "shuffled"]),
)
def test_no_example_gives_its_own_question_away(tmp_path_factory, drawn, seed, orders):
    """The examples are the questions themselves, with clusters and repeated stems."""
    folder = tmp_path_factory.mktemp("exam")
    rows = {
        (stem, cluster, right): {
            "id": f"q{no}",
            "question": f"stem {stem}",
            "options": [right, f"wrong{no}", f"odd{no}"],
            "answer": "A",
            "cluster": cluster,
        }
        for no, (stem, cluster, right) in enumerate(drawn)
    }
    path = write(folder / "exam.jsonl", list(rows.values()))
    suite = ChoiceSuite(
        SampleFiles(path), {"m": Prompt(Scripted(), EXAMPLES)}, few_shot=FewShot(path, n=3, seed=seed), orders=orders
    ).build()
    by_options = {tuple(sorted(row["options"])): row for row in rows.values()}
    for sample in suite.samples:
        me = by_options[tuple(sorted(sample.choices))]
        for example in suite.targets["m"].examples(sample):
            other = by_options[tuple(sorted(example.sample.choices))]
            assert other["id"] != me["id"]
            assert not (me["cluster"] and me["cluster"] == other["cluster"])
            assert (other["question"], other["options"][0]) != (me["question"], me["options"][0])


def test_a_question_that_is_among_the_examples_is_noted(tmp_path):
    path = write(tmp_path / "exam.jsonl", rows_of())
    suite = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(path)).build()
    assert any(note.startswith("8 of the questions asked are among the examples too") for note in suite.notes)


def test_width_case_and_blanks_hide_no_duplicate():
    example = Sample("e", "Which ＩＳ it?", "B", ("one", "two"))
    assert gives_away(example, Sample("q", "which is  it", "A", ("TWO", "One.")))
    assert gives_away(example, Sample("q", "which is it", "A", ("Two", "three", "four")))
    assert not gives_away(example, Sample("q", "which is it", "A", ("three", "two")))


def test_examples_answer_as_the_reply_is_held_to(tmp_path):
    dev = write(tmp_path / "dev.jsonl", example_rows())
    template = "{{examples}}\n\nQ: {{question}}\n{{options}}"
    targets = {
        "json": Prompt(Scripted(), template, reply="choice"),
        "letters": Prompt(Scripted(), template),
        "texts": Likelihood(_Completes(), "texts"),
    }
    suite = exam(tmp_path, targets=targets, few_shot=FewShot(dev, n=1)).build()
    sample = next(iter(suite.samples))
    assert '{"answer": "' in shown(suite, sample, "json")
    assert "Answer: " in shown(suite, sample, "letters")
    assert re.search(r"Answer: [pq]\n\nQuestion: question 0 of g\nAnswer:$", shown(suite, sample, "texts"))


class _Completes:
    completes = True

    def request(self, messages, parameters):
        raise AssertionError("nothing is sent")


@pytest.mark.parametrize("target", [Prompt(Scripted(), "en/choice"), HttpEndpoint("http://h/v1", body={})])
def test_a_template_without_a_place_for_examples_is_refused(tmp_path, target):
    dev = write(tmp_path / "dev.jsonl", example_rows())
    with pytest.raises(ConfigError, match="few_shot: t has no place for the examples"):
        exam(tmp_path, targets={"t": target}, few_shot=FewShot(dev)).build()


def test_a_place_for_examples_without_any_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"targets: m has a place for .*few_shot: \{held_out: 5\}"):
        exam(tmp_path, template=EXAMPLES).build()
    with pytest.raises(ConfigError, match="no target shows examples"):
        exam(tmp_path, targets={"b": Baseline("random")}, few_shot=FewShot(held_out=1)).build()


@pytest.mark.parametrize(
    ("few_shot", "said"),
    [
        (FewShot(), "not neither"),
        (FewShot("a.csv", held_out=1), "not both"),
        (FewShot(held_out=1, sheets=("s",)), "need a file"),
        (FewShot(held_out=1, n=0), "n"),
        (FewShot("nowhere.jsonl"), "there is no file nowhere.jsonl"),
    ],
)
def test_examples_that_cannot_be_meant_are_refused(tmp_path, few_shot, said):
    with pytest.raises(ConfigError, match=said):
        exam(tmp_path, template=EXAMPLES, few_shot=few_shot).build()


def test_a_bad_row_among_the_examples_is_named_with_its_place(tmp_path):
    dev = write(tmp_path / "dev.jsonl", [*example_rows(), {"question": "q", "options": ["p", "q"], "answer": "C"}])
    with pytest.raises(DataError, match=r"dev\.jsonl line 4 key answer: the key 'C'"):
        exam(tmp_path, template=EXAMPLES, few_shot=FewShot(dev)).build()


def test_other_examples_are_another_target_for_a_resume_and_for_a_comparison(tmp_path):
    dev = write(tmp_path / "dev.jsonl", example_rows())
    single = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(dev, n=1)).build()
    second = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(dev, n=2)).build()
    same = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(dev, n=1)).build()
    assert describe(single.targets["m"]) == describe(same.targets["m"])
    write(tmp_path / "dev.jsonl", example_rows(4))
    more = exam(tmp_path, template=EXAMPLES, few_shot=FewShot(dev, n=1)).build()
    assert describe(single.targets["m"]) != describe(more.targets["m"])
    assert describe(single.targets["m"]) != describe(second.targets["m"])


def test_a_configuration_holds_all_of_it(tmp_path):
    write(tmp_path / "dev.jsonl", example_rows())
    write(tmp_path / "exam.jsonl", rows_of())
    (tmp_path / "exam.yaml").write_text(
        """
suite: choice
samples: {file: exam.jsonl}
orders: shuffled
few_shot: {file: dev.jsonl, n: 2}
options: {seed: 5}
targets:
  m: {prompt: {template: en/choice_examples, reply: choice, model: {scripted: {default: "A"}}}}
  l: {likelihood: {by: letters, model: {scripted: {default: "A"}}}}
""",
        encoding="utf-8",
    )
    suite = load(tmp_path / "exam.yaml", environ={}).suite
    assert suite.source["orders_seed"] == 5
    assert suite.source["few_shot"]["n"] == 2
    assert shown(suite, next(iter(suite.samples)), "l").count("example ") == 2
    assert [type(scorer).__name__ for scorer in suite.scorers_for("l")] == ["Choice", "LikelihoodAccuracy"]
    (tmp_path / "exam.yaml").write_text(
        (tmp_path / "exam.yaml").read_text().replace("few_shot: {file: dev.jsonl, n: 2}", "few_shot: {n: 2}"), "utf-8"
    )
    with pytest.raises(ConfigError, match=r"exam\.yaml:5.*name the source of examples"):
        load(tmp_path / "exam.yaml", environ={})


# -- what does not fit


SEVERAL = [*rows_of(), {**rows_of()[0], "id": "s", "question": "which?", "answer": "AC"}]


@pytest.mark.parametrize(
    ("rows", "target", "said"),
    [
        (SEVERAL, Prompt(Scripted(), "zh/four_options"), "but the template of m says that there is one"),
        (SEVERAL, Prompt(Scripted(), "en/choice_cot"), "but the template of m says that there is one"),
        (SEVERAL, Prompt(Scripted(), "en/choice_several", reply="choice"), "may have only one letter"),
        (SEVERAL, Likelihood(Scripted()), "1 of 9 questions have several right options: m has no acc for them"),
        (None, Prompt(Scripted(), "zh/choice_several_cot"), "asks for several right options, but every question"),
        (SEVERAL, HttpEndpoint("http://h/v1", body={}), "but the template of m says that there is one"),
        (None, Prompt(Scripted()), "the template of m shows no options: it holds neither {{options}} nor {{choices}}"),
        (None, Prompt(Scripted(), "en/choice"), ""),
    ],
)
def test_a_template_that_does_not_fit_the_keys_is_noted(tmp_path, rows, target, said):
    notes = exam(tmp_path, rows, targets={"m": target}, several_answers=True).build().notes
    assert any(said in note for note in notes) if said else notes == exam(tmp_path).build().notes


def test_the_prompts_for_several_answers_fit_sheets_that_have_some(tmp_path):
    for name in ("choice_several", "choice_several_cot", "choice_several_json"):
        for language in ("zh", "en"):
            targets = {"m": Prompt(Scripted(), f"{language}/{name}", reply="choices")}
            assert exam(tmp_path, SEVERAL, targets=targets, several_answers=True).build().notes == ()


def test_repeats_ask_several_times_and_at_temperature_0_that_is_noted(tmp_path):
    cold = Prompt(Scripted(default="A"), "en/choice", parameters={"temperature": 0})
    suite = exam(tmp_path, targets={"m": cold}, options=Options(repeats=3)).build()
    assert "m is asked 3 times at temperature 0: its repeats show only the endpoint's noise" in suite.notes
    (run,) = asyncio.run(aevaluate_suite(suite, how=RunConfig(store="s.db")))
    keys = {reply.key for record in run.records() for reply in record.replies["target"]}
    assert len(keys) == 24
    assert exam(tmp_path, targets={"m": cold}).build().notes == ()


def test_a_reply_is_held_to_the_letters_of_its_own_question(tmp_path):
    rows = [*rows_of(1, 1), {"id": "two", "question": "two?", "options": ["p", "q"], "answer": "A", "category": "g"}]
    sent = []

    class Spy:
        def request(self, messages, parameters):
            raise AssertionError("asked by hand")

    async def ask(_model, _messages, **parameters):
        from steelyard import Reply

        sent.append(parameters["response_format"])
        return Reply("", '{"answer": "A"}')

    suite = exam(tmp_path, rows, targets={"m": Prompt(Spy(), "en/choice_json", reply="choice")}).build()
    for sample in suite.samples:
        asyncio.run(suite.targets["m"](sample, ask))
    assert sent == [response_format("choice", list("ABCD")), response_format("choice", list("AB"))]
