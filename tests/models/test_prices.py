"""Prices: exact to the billionth, looked for by name, and read from what a user can write."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import ConfigError, OpenAICompatible
from steelyard.models.base import usage_of
from steelyard.models.http import HttpModel
from steelyard.models.prices import Price, PriceTable, billionths, read_prices, units
from steelyard.models.scripted import Scripted
from steelyard.types import Usage


def model(name):
    return OpenAICompatible(name, "https://api.example/v1")


def test_a_worked_bill():
    # 1,200 tokens in, of them 200 from the cache, 340 out; 2.5, 1.25 and 10 a million.
    assert Price(2.5, 10, 1.25).cost(Usage(1200, 340, cache_read=200)) == 6_150_000
    assert units(6_150_000) == 0.00615
    assert Price(2.5, 10).cost(Usage(1200, 340, cache_read=200)) == 6_400_000


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 99_999))
def test_a_price_is_the_decimal_that_was_written(asked, said, thousandths):
    price = Price(thousandths / 1000, thousandths / 1000)
    assert price.cost(Usage(asked, said)) == (asked + said) * thousandths
    assert billionths(units(price.cost(Usage(asked, said)))) == price.cost(Usage(asked, said))


def test_what_is_no_count_of_cached_tokens_changes_nothing():
    assert Price(1, 1, 0.5).cost(usage_of(10, 0, "", cache_read=99)) == 5000
    assert Price(1, 1, 0.5).cost(usage_of(10, 0, "", cache_read=-5)) == 10_000


def test_tokens_written_to_the_cache_have_a_price_of_their_own():
    # Anthropic's: reading a tenth, writing a quarter more: 100 x 3 + 600 x 0.3 + 300 x 3.75 millionths
    usage = Usage(1000, 0, cache_read=600, cache_write=300)
    assert Price(3, 15, 0.3, 3.75).cost(usage) == 1_605_000
    assert Price(3, 15, 0.3).cost(usage) == 1_380_000


def test_a_price_under_a_tier_comes_before_that_of_the_model_and_is_no_price_of_the_model():
    table = PriceTable({"gpt-*": Price(2, 8), "gpt-5.5@flex": Price(1, 4), "o*@flex": Price(3, 3)})
    model = OpenAICompatible("gpt-5.5")
    assert table.price(model) == Price(2, 8)
    assert table.price(model, "flex") == Price(1, 4)
    assert table.price(model, "priority") == Price(2, 8)
    assert table.price(OpenAICompatible("o4")) is None


def test_the_exact_name_wins_then_the_longest_pattern():
    table = PriceTable({"glm-*": Price(1, 1), "glm-4*": Price(2, 2), "glm-4": Price(3, 3), "*": Price(9, 9)})
    prices = {name: table.price(model(name)).input for name in ("glm-4", "glm-4-air", "glm-3", "qwen")}
    assert prices == {"glm-4": 3, "glm-4-air": 2, "glm-3": 1, "qwen": 9}
    assert PriceTable({"glm-*": Price(1, 1)}).price(model("qwen")) is None


def test_a_model_is_found_without_its_provider_by_its_body_and_by_its_address():
    table = PriceTable({"gpt-4o": Price(1, 1), "https://kb.example/*": Price(2, 2)})
    assert table.price(model("openai/gpt-4o")).input == 1
    assert table.price(HttpModel("http://h/x", body={"model": "gpt-4o"})).input == 1
    assert table.price(HttpModel("https://kb.example/chat")).input == 2
    assert table.price(Scripted(default="A")).input == 0


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_table_is_read_from_json_and_from_csv(tmp_path):
    wanted = PriceTable({"glm-4*": Price(1.5, 3), "gpt": Price(0.15, 0.6, 0.075)}, "CNY")
    models = {"glm-4*": {"input": 1.5, "output": 3}, "gpt": {"input": 0.15, "output": 0.6, "cached": 0.075}}
    as_json = write(tmp_path, "a.json", json.dumps({"currency": "CNY", "models": models}))
    rows = "model,input,output,cached,currency\nglm-4*,1.5,3,,CNY\ngpt,0.15,0.6,0.075,CNY\n"
    as_csv = write(tmp_path, "a.csv", "\ufeff" + rows)
    assert read_prices(as_json) == read_prices(as_csv) == wanted


@pytest.mark.parametrize(
    ("name", "text", "said_so"),
    [
        ("a.json", "{", "a.json holds no prices"),
        ("a.json", "[" * 100_000, "a.json holds no prices"),
        ("a.json", '{"models": {"a": {"input": 1, "output": 1}, "a": {}}}', "'a' occurs twice"),
        ("a.json", '{"gpt": {"input": 1, "output": 1}}', "and no other keys"),
        ("a.json", '{"models": {}}', "holds no prices"),
        ("a.json", '{"models": {"a": {"input": 1}}}', "a.json: a: output is missing"),
        ("a.json", '{"models": {"a": {"input": -1, "output": 1}}}', "a.json: a: input must be"),
        ("a.json", '{"models": {"a": {"input": NaN, "output": 1}}}', "a.json: a: input must be"),
        ("a.json", '{"models": {"a": {"input": true, "output": 1}}}', "a.json: a: input must be"),
        ("a.json", '{"models": {"a": {"inptu": 1, "output": 1}}}', "unknown key 'inptu': did you mean 'input'"),
        ("a.json", '{"models": {"a": [1, 2]}}', "expected the keys input and output"),
        ("a.csv", "model,input,output\na,1,2\na,1,2\n", "a.csv, row 3: it repeats a model"),
        ("a.csv", "model,input,output\n,1,2\n", "a.csv, row 2: it has no model"),
        ("a.csv", "model,input,output\na,1,2,3\n", "a.csv, row 2: it has too many cells"),
        ("a.csv", "model,input,output\na,cheap,2\n", "must be the price of 1,000,000 tokens, not 'cheap'"),
        ("a.csv", "model,input,output,currency\na,1,2,USD\nb,1,2,CNY\n", "several currencies"),
        ("a.csv", "model,input,output,input\na,1,2,9\n", "two columns have one name"),
        ("a.csv", "model,inptu,output\na,1,2\n", "unknown column 'inptu'"),
        ("a.csv", "", "holds no prices"),
        ("a.yaml", "models: {}", "from a .json or .csv file"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused_with_its_place(tmp_path, name, text, said_so):
    with pytest.raises(ConfigError) as caught:
        read_prices(write(tmp_path, name, text))
    assert said_so in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_or_too_large_is_refused(tmp_path):
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    (tmp_path / "c.json").write_bytes(b" " * (5 << 20))
    for name, said_so in (("a.json", "cannot be read"), ("b.json", "not UTF-8"), ("c.json", "larger than 4,194,304")):
        with pytest.raises(ConfigError, match=said_so):
            read_prices(tmp_path / name)
