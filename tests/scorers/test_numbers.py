"""Numbers as people and models write them, and whether an output gives those of its reference."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Output, Sample
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.scorers.numbers import NumberMatch, numbers_in


def read(text, **options):
    return [float(number.value) for number in numbers_in(text, **options)]


def score(reference, got, **options):
    return NumberMatch(**options)(Sample("1", "q", reference), Output(got))


def in_chinese(number):
    """Below 10^12, as it is written in full: 100,010 is 十万零一十."""
    digits, text = "零一二三四五六七八九", ""
    for factor, unit in ((10**8, "亿"), (10**4, "万"), (1, "")):
        group, number = divmod(number, factor)
        if not group:
            continue
        if text and group < 1000:
            text += "零"
        part, gap = "", False
        for power, mark in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
            digit, group = divmod(group, power)
            gap = gap or (bool(part) and not digit)
            if digit:
                part += ("零" if gap else "") + digits[digit] + mark
                gap = False
        text += part + unit
    return text


class TestReading:
    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("1,234.5", [1234.5]),
            ("1,23,456 rupees", [123456]),
            ("1'234", [1234]),
            ("12\u202f345", [12345]),
            ("1, 2,3", [1, 2, 3]),
            ("12,345,6", [12345, 6]),
            ("１２３，４５", [123, 45]),
            ("100、200", [100, 200]),
            ("-5 and x=-5", [-5, -5]),
            ("−3", [-3]),
            ("5-3, 5 - 3, (5)-3", [5, 3, 5, 3, 5, 3]),
            (".5", [0.5]),
            ("No.5 ...6", [5, 6]),
            ("1.2e3 and 5E-1", [1200, 0.5]),
            ("12 %, 7% or 3 percent", [0.12, 0.07, 0.03]),
            ("12％ 5\u202f%", [0.12, 0.05]),
            ("1.5 million, 2-billion, 3 thousands", [1.5e6, 2e9, 3000]),
            ("5k but 5kg", [5000, 5]),
            ("$1,234.50.", [1234.5]),
            ("**18**", [18]),
            ("#### 18", [18]),
            ("2024-01-05 12:30", [2024, 1, 5, 12, 30]),
            ("GPT-4, H2O, v1.2.3, 192.168.0.1, x_1", []),
            ("10%-15%, 5°–7°, 5 kg–7 kg, $5$–$9$, 3 €-4 €, €-5", [0.1, 0.15, 5, 7, 5, 7, 5, 9, 3, 4, -5]),
            ("“–7” 答案：–7 |–7| →–7", [-7, -7, -7, -7]),
            ("3rd", [3]),
            ("一百二十三", [123]),
            ("两千零二", [2002]),
            ("一千零五十", [1050]),
            ("十二、二十、二十一", [12, 20, 21]),
            ("三万五", [35000]),
            ("三万零五", [30005]),
            ("一百二", [120]),
            ("一亿零三百", [100000300]),
            ("一万亿", [1e12]),
            ("壹佰贰拾叁萬", [1230000]),
            ("二〇二四年", [2024]),
            ("一九九八年", [1998]),
            ("三点五，三点一四亿", [3.5, 3.14e8]),
            ("百分之十二，百分之12.5，百分之五", [0.12, 0.125, 0.05]),
            ("负三度", [-3]),
            ("3万5千", [35000]),
            ("3万5", [35000]),
            ("3.5万，1.5 亿", [35000, 1.5e8]),
            ("1亿2000万", [1.2e8]),
            ("3千克和5千米，2百万", [3, 5, 2e6]),
            ("答案是三。", [3]),
            ("共三个，第四章", [3, 4]),
            ("共六十四卦", [64]),
            ("统一、一个、一般、十分、千万、万一、唯一。", []),
            ("三四个人，二三十，几十个，数百，两三千人，三分之一", []),
            (r"\boxed{1{,}234}, 12\,345, 12\%", [1234, 12345, 0.12]),
            ("١٬٢٣٤٫٥، ۱۲٪ ، १२।", [1234.5, 0.12, 12]),
            ("١،٢٣٤", [1, 234]),
            (r"x\approx2.75, 81,\!900, -\$4", [2.75, 81900, -4]),
            ("RMB41,300.5, Rs70 and Rs.80; 231_{8}, 6 in.^2, 9 s^{-1}", [41300.5, 70, 80, 231, 6, 9]),
            ("__52__ and _-6_ but a_9, v4.8 and \\u2019s", [52, -6]),
            ("It is negative 9, y = - 4 or –2; pages 3–8, 5 minus 1", [-9, -4, -2, 3, 8, 5, 1]),
            ("", []),
        ],
    )
    def test_the_ways_to_write_a_number(self, text, numbers):
        assert read(text) == numbers

    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("1.234,5", [1234.5]),
            ("1 234,5", [1234.5]),
            ("1\u00a0234\u00a0567,25 €", [1234567.25]),
            ("1.234.567", [1234567]),
            ("3.14", [3.14]),
            ("12,5 %", [0.125]),
            ("١٬٢٣٤٫٥", [1234.5]),
            ("2020 300", [2020, 300]),
        ],
    )
    def test_a_decimal_comma_on_demand(self, text, numbers):
        assert read(text, decimal_comma=True) == numbers

    def test_the_marks_of_a_list_are_no_numbers(self):
        assert read("1. Add 5.\n2. Take 3.\n3) Done: 8") == [5, 3, 8]
        assert read("18. That is the answer.") == [18]

    @given(st.integers(1, 10**12 - 1))
    def test_every_whole_number_in_chinese_is_read(self, number):
        assert read(f"共{in_chinese(number)}元") == ([] if number == 1 else [number])

    @given(st.decimals(min_value=-(10**9), max_value=10**9, places=3))
    def test_every_grouped_decimal_is_read_exactly(self, number):
        assert [one.value for one in numbers_in(f"is {number:,.3f} or")] == [number]

    @given(
        st.text(alphabet="0123456789.,-+eE%k 一十百千万亿零点百分之负$\n", max_size=80) | st.text(max_size=80),
        st.booleans(),
    )
    def test_any_text_is_read_without_an_error(self, text, decimal_comma):
        assert all(number.value.is_finite() for number in numbers_in(text, decimal_comma=decimal_comma))

    @pytest.mark.parametrize(
        "text", ["十万" * 10**4, "1万" + "零1万" * 10**4, "9" * 10**5, "1e999999", "1" + " " * 10**5]
    )
    def test_numbers_of_any_length_are_no_danger(self, text):
        assert len(numbers_in(text)) <= 1
        assert score("5", text).value == 0.0


class TestMatch:
    @pytest.mark.parametrize(
        ("reference", "got", "value"),
        [
            ("1234.5", "It is 1,234.50 km.", 1.0),
            ("35000", "约三万五千人", 1.0),
            ("3万5千", "35,000 people", 1.0),
            ("12 %", "0.12", 1.0),
            ("12 %", "12", 1.0),
            ("0.12", "12 %", 1.0),
            ("12", "0.12", 0.0),
            ("42", "It is 41, not 420", 0.0),
            ("1.5 million", "1,500,000", 1.0),
            ("64", "八八六十四", 0.0),
            ("64", "共六十四卦", 1.0),
            ("3 and 4", "4, then 3", 1.0),
            ("3 and 4", "only 4", 0.0),
            ("0", "0.0", 1.0),
            ("-5", "5", 0.0),
        ],
    )
    def test_numbers_are_compared_by_value(self, reference, got, value):
        assert score(reference, got).value == value

    def test_the_modes_say_how_many_are_needed(self):
        assert score("3 and 4", "4", mode="any").value == 1.0
        scored = score("3 and 4", "4", mode="share", threshold=0.5)
        assert (scored.value, scored.passed, scored.reason) == (0.5, True, "missing: 3")
        assert score("3", "9", mode="any").value == 0.0

    def test_the_final_number_is_the_answer_as_in_gsm8k(self):
        reference = "Natalia sold 48/2 = 24 clips in May.\n#### 72"
        assert score(reference, "48 + 24 = 72 clips.", mode="final").value == 1.0
        scored = score(reference, "She sold 72, of which 24 in May", mode="final")
        assert (scored.value, scored.reason) == (0.0, "the last number is 24, 72 is right")

    def test_a_tolerance_is_a_share_of_the_number_of_the_reference(self):
        assert score("100", "101", relative_tolerance=0.01).value == 1.0
        assert score("100", "101.1", relative_tolerance=0.01).value == 0.0
        assert score("-100", "-99", relative_tolerance=0.01).value == 1.0
        assert score("0.3", "0.30000000000000004").value == 0.0
        assert score("0.3", "0.30000000000000004", relative_tolerance=1e-9).value == 1.0

    @pytest.mark.parametrize(
        ("reference", "got", "value"),
        [
            ("5 km", "5 km away", 1.0),
            ("5 km", "5km", 1.0),
            ("5 km", "5 kmh", 0.0),
            ("5 km", "5 miles", 0.0),
            ("5公里", "大约5公里左右", 1.0),
            ("5公里", "5米", 0.0),
            ("5公里", "5", 0.0),
            ("$5", "$5.00", 1.0),
            ("$5", "€5", 0.0),
            ("5", "5 km", 1.0),
            ("12 %", "12", 0.0),
            ("12 %", "0.12", 1.0),
        ],
    )
    def test_units_count_on_demand(self, reference, got, value):
        assert score(reference, got, units=True).value == value

    def test_a_reference_without_a_number_does_not_apply(self):
        scored = score("many", "5")
        assert (scored.outcome, scored.reason) == ("not_applicable", "the reference holds no number")

    def test_an_output_without_a_number_is_wrong(self):
        scored = score("5", "many")
        assert (scored.value, scored.passed, scored.reason) == (0.0, False, "the output holds no number")

    def test_long_numbers_are_told_short(self):
        assert score("5", "1e999", mode="final").reason == "the last number is 1.000E+999, 5 is right"

    @pytest.mark.parametrize(
        "wrong", [{"mode": "last"}, {"relative_tolerance": -1}, {"relative_tolerance": 1}, {"threshold": 0.5}]
    )
    def test_options_that_mean_nothing_are_refused(self, wrong):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            check_options(NumberMatch(**wrong))

    @given(st.decimals(min_value=-(10**6), max_value=10**6, places=2))
    def test_a_number_is_itself(self, number):
        assert score(str(number), f"so it is {number:,}").value == 1.0
        assert Decimal(score(str(number), str(number)).detail["numbers"][0]) == number


class TestPowersAndFractions:
    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("3.2 \\times 10^{4} J", [32000]),
            ("1.6 × 10⁻¹⁹ C", [1.6e-19]),
            ("10^6", [1e6]),
            ("2 * 10 = 20", [2, 10, 20]),
            ("36 cm^2, $6\\text{ m}^{2}$", [36, 6]),
            ("x^2 + 3", [2, 3]),
            ("1½ cups, ¾", [1.5, 0.75]),
            ("2 ½ cups of 100001½", [2.5, 100001.5]),
            ("1,000½ and 1.5½", [1000, 1.5]),
        ],
    )
    def test_powers_of_ten_are_one_number_and_exponents_of_units_none(self, text, numbers):
        assert read(text) == pytest.approx(numbers)

    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("1/2", [0.5]),
            ("$-\\frac{2}{4}$", [-0.5]),
            ("2\\dfrac{1}{2} or 3 1/4", [2.5, 3.25]),
            (r"\frac58, \dfrac{-1}8, y=\approx\tfrac1{16}", [0.625, -0.125, 0.0625]),
            (r"\boxed{3 \over 4}, $x = {-{1}\over{8}}$", [0.75, -0.125]),
            (r"${x + 3 \over 4}$", [3, 4]),
            (r"1_000_000 of 8\_000.5, v_1_000, 1011_2", [1_000_000, 8000.5, 1011]),
            ("on 3/4/2024, 1/0 and 3.5/7", [3, 4, 2024, 1, 0, 3.5, 7]),
        ],
    )
    def test_fractions_are_one_number_where_the_caller_says_so(self, text, numbers):
        assert read(text, fractions=True) == pytest.approx(numbers)

    @pytest.mark.parametrize(
        ("reference", "output", "mode", "right"),
        [
            ("1/2", "so it is 3/2", "final", False),
            ("\\frac{1}{2}", "$\\boxed{\\frac{2}{4}}$", "final", True),
            ("7", "The answer is 6/7.", "final", False),
            ("3.2 × 10^4", "5.1 × 10^4", "final", False),
            ("3/4", "it is 4/3", "all", False),
            ("3/4", "it is \\frac43", "all", False),
            ("3/4", "it is ¾ of a cup", "all", True),
            ("3/4", "3 out of 4", "all", True),
            ("8", "I give it 8/10", "all", True),
        ],
    )
    def test_a_fraction_is_not_right_by_its_parts_alone(self, reference, output, mode, right):
        assert score(reference, output, mode=mode).passed is right
