"""The input of custom tools, read from arguments that come in pieces."""

import json
import random

import pytest

from models.chat.custom_input import CustomInput, arguments_of, input_of

TEXTS = ["", "print('hi')", 'a "quoted"\n\\path\\ \t', "caf\u00e9 \U0001f600", "\u0000\u001f", '{"input":"x"}']


@pytest.mark.parametrize("text", TEXTS)
def test_input_of_arguments_is_the_text(text: str) -> None:
    assert input_of(arguments_of(text)) == text
    escaped = json.dumps({"input": text}, ensure_ascii=True, indent=2)
    assert input_of(escaped) == text


@pytest.mark.parametrize(
    "arguments",
    [
        *(json.dumps({"input": text, "more": [1, {"input": "no"}]}) for text in TEXTS),
        *(json.dumps({"code": text}) for text in TEXTS),
        '{"input": {"deep": "er"}}',
        '{"in": "put"}',
        "{}",
    ],
)
def test_split_arguments_add_up_to_the_same_input(arguments: str) -> None:
    source = random.Random(5)
    for _ in range(30):
        cuts = sorted(source.sample(range(len(arguments) + 1), k=min(5, len(arguments))))
        pieces = [arguments[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
        reader = CustomInput()
        assert "".join(map(reader.push, pieces)) == input_of(arguments)


@pytest.mark.parametrize(
    "arguments",
    ['{"code": "x"}', '{"input": 5}', '{"input": null, "x": 1}', "{}", '{ "inputs":""}', "{[", '{"in\x00"}'],
)
def test_arguments_of_another_form_are_the_input(arguments: str) -> None:
    assert input_of(arguments) == arguments


def test_cut_arguments_have_the_input_so_far() -> None:
    whole = json.dumps({"input": "caf\u00e9 \U0001f600!"})
    said = [input_of(whole[:end]) for end in range(1, len(whole) + 1)]
    assert said[-1] == "caf\u00e9 \U0001f600!"
    assert all(said[-1].startswith(each) for each in said)
    assert said.count("") == len('{"input": "')
