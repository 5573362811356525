from steelyard.text.references import references, texts_in


def test_references_are_those_around_a_question_and_none_in_its_words():
    target = {
        "prompt": {
            "template": "It costs ${price}",
            "system": "${also}",
            "text": "${also}",
            "parameters": {"user": "${also}"},
            "model": {"openai_compatible": {"api_key": "${KEY}", "headers": {"X": ["a ${TEAM}"]}}},
        }
    }
    assert list(references([target])) == ["KEY", "TEAM"]


def test_every_text_of_a_plain_value_is_found():
    assert list(texts_in(["a", {"k": ("b", 1, None)}])) == ["a", "b"]
