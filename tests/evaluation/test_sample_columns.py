"""Placeholders are looked up in the samples before the first call, and only what is read decides a resume."""

import json

import pytest

from steelyard import ConfigError, Prompt, Sample, Scripted, Suite
from steelyard.config.load import load
from steelyard.data.sample_files import SampleFiles
from steelyard.evaluation.sample_columns import with_checked_names
from steelyard.evaluation.survey import changed_keys, manifests, survey_of
from steelyard.suites import ChoiceSuite

CONFIG = """suite: choice
samples: {file: exam.jsonl}
targets:
  good: {prompt: {template: en/choice, model: {scripted: {default: B}}}}
  mine: {prompt: {template: "TEMPLATE", model: {scripted: {default: B}}}}
"""


def exam(folder, *extras):
    rows = [{"question": f"Q {no}?", "options": ["a", "b"], "answer": "B", **extra} for no, extra in enumerate(extras)]
    (folder / "exam.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")


def configured(folder, template):
    (folder / "run.yaml").write_text(CONFIG.replace("TEMPLATE", template), "utf-8")
    return load(folder / "run.yaml", environ={}).suite


def suite_of(folder, template):
    return ChoiceSuite(SampleFiles(folder / "exam.jsonl"), {"t": Prompt(Scripted(), template=template)}).build()


def test_a_placeholder_that_no_sample_fills_is_refused_with_file_and_suggestion(tmp_path):
    exam(tmp_path, {"year": 2019, "remark": ""}, {"year": 2020})
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, "{{metadata.yaer}} {{question}} {{options}}")
    assert "mine: {{metadata.yaer}}: no sample of exam.jsonl has a value for it" in str(caught.value)
    assert "did you mean 'metadata.year'" in str(caught.value)
    assert "run.yaml:5" in str(caught.value)
    with pytest.raises(ConfigError, match=r"\{\{metadata.remark\}\}: no sample of exam.jsonl has a value for it"):
        configured(tmp_path, "{{metadata.remark}} {{question}} {{options}}")
    with pytest.raises(ConfigError, match=r"\{\{passage\}\}: no sample of exam.jsonl .* columns without a role: year"):
        configured(tmp_path, "{{passage}} {{question}} {{options}}")


def test_a_placeholder_that_some_samples_fill_is_noted_with_the_count(tmp_path):
    exam(tmp_path, {"hint": "think"}, {"hint": None}, {})
    suite = configured(tmp_path, "{{metadata.hint}} {{question}} {{options}}")
    assert "{{metadata.hint}} is blank for 2 of 3 samples, which are asked without it" in suite.notes
    assert with_checked_names(suite).notes == suite.notes
    texts = [suite.targets["mine"].messages(sample)[0]["content"] for sample in suite.samples]
    assert [text.partition("Q")[0] for text in texts] == ["think ", " ", " "]


def test_a_column_may_have_any_header(tmp_path):
    exam(tmp_path, {"备注（可选）": "甲", "No. 1": "乙"})
    suite = configured(tmp_path, "{{metadata.备注（可选）}}{{ metadata.No. 1 }} {{question}}{{options}}")
    (sample,) = suite.samples
    assert suite.targets["mine"].messages(sample)[0]["content"].startswith("甲乙 Q 0?")


def test_samples_from_python_that_lack_a_key_are_counted():
    samples = [Sample("1", "a", metadata={"year": 1}), Sample("2", "b")]
    suite = Suite("s", "custom", samples, {"t": Prompt(Scripted(), template="{{metadata.year}} {{question}}")}, ())
    assert with_checked_names(suite).notes == ("1 of 2 samples have no {{metadata.year}}, and will fail",)


def test_a_prompt_that_shows_neither_passage_nor_question_is_noted(tmp_path):
    exam(tmp_path, {"passage": "It rains.", "ask": "Why?"})
    suite = configured(tmp_path, "{{metadata.ask}} {{options}}")
    assert any(note.startswith("mine is not shown the passages of 1 questions") for note in suite.notes)
    assert not any("good is not shown" in note for note in suite.notes)


def changed(folder, template, first, second):
    """The keys that keep a run from being resumed after its file has changed."""
    plans = []
    for extra in (first, second):
        exam(folder, extra)
        suite = suite_of(folder, template)
        plans.append(dict(manifests(suite, survey_of(suite), draw="", config=None))["t"])
    return changed_keys(*plans)


def test_a_column_that_nothing_reads_may_change_while_a_run_is_resumed(tmp_path):
    asked = "{{question}}{{options}}"
    assert changed(tmp_path, asked, {"year": 1}, {"year": 2}) == []
    assert changed(tmp_path, asked, {}, {"year": 2}) == []
    assert changed(tmp_path, asked, {"passage": "It rains."}, {"passage": "It snows."}) == ["samples.digest"]


def test_a_column_that_a_prompt_reads_must_not_change(tmp_path):
    asked = "{{metadata.year}}{{question}}{{options}}"
    assert changed(tmp_path, asked, {"year": 1, "x": 1}, {"year": 2, "x": 1}) == ["samples.columns"]
    assert changed(tmp_path, asked, {"year": 1, "x": 1}, {"year": 1, "x": 2}) == []


def test_code_may_read_every_column(tmp_path):
    exam(tmp_path, {"year": 1})
    suite = ChoiceSuite(SampleFiles(tmp_path / "exam.jsonl"), {"f": lambda sample: sample.metadata["year"]}).build()
    assert survey_of(suite).columns
    assert not survey_of(suite_of(tmp_path, "{{question}}{{options}}")).columns


def test_rows_with_pictures_are_left_out_by_a_configuration(tmp_path):
    exam(tmp_path, {}, {})
    for written in ("pictures", "[pictures, dates]"):
        text = CONFIG.replace("TEMPLATE", "{{question}}{{options}}").replace(
            "{file: exam.jsonl}", f"{{file: exam.jsonl, skip_rows_with: {written}}}"
        )
        (tmp_path / "run.yaml").write_text(text, "utf-8")
        assert load(tmp_path / "run.yaml", environ={}).suite.source.unread_kinds[0] == "pictures"
    (tmp_path / "run.yaml").write_text(text.replace("pictures", "picture"), "utf-8")
    with pytest.raises(ConfigError, match="picture"):
        load(tmp_path / "run.yaml", environ={})
