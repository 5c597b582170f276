from typing import Any

import pytest

from app.apis.ollama.options import OllamaOptions, option_field
from app.schemas.parsing import parse_object
from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams, check_sampling


def params(**options: Any) -> SamplingParams:
    return parse_object(OllamaOptions, options).sampling_params()


def test_options_reach_the_engine_under_its_own_names() -> None:
    given = params(
        temperature=0.5, top_p=0.9, top_k=7, min_p=0.1, seed=11, stop=["a", "b"], num_predict=9, repeat_penalty=1.2,
        presence_penalty=0.3, frequency_penalty=0.4,
    )  # fmt: skip
    assert given == SamplingParams(
        temperature=0.5,
        top_p=0.9,
        top_k=7,
        min_p=0.1,
        seed=11,
        stop=("a", "b"),
        max_tokens=9,
        repetition_penalty=1.2,
        presence_penalty=0.3,
        frequency_penalty=0.4,
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_predict": -1},
        {"num_predict": -2},
        {"num_predict": 0},
        {"seed": -1},
        {"top_k": -1},
        {"repeat_penalty": 1.5, "presence_penalty": 1, "frequency_penalty": 1, "repeat_last_n": 0},
        {"typical_p": 1, "tfs_z": 1.0, "mirostat": 0, "mirostat_tau": 5.0, "mirostat_eta": 0.1},
        {"num_ctx": 1 << 20, "num_keep": 4, "num_thread": 8, "use_mmap": None, "penalize_newline": False},
        {"temperature": None, "stop": None, "typical_p": None},
    ],
)
def test_options_that_ask_for_nothing_are_accepted(options: dict[str, Any]) -> None:
    assert params(**options) == SamplingParams()


def test_any_temperature_reaches_the_engine() -> None:
    given = params(temperature=7.5, top_k=3)
    assert given == SamplingParams(temperature=7.5, top_k=3)
    check_sampling(given, vocab_size=10)


def test_penalties_apply_for_any_number_of_last_tokens_but_zero() -> None:
    assert params(repeat_penalty=1.5, repeat_last_n=-1).repetition_penalty == 1.5
    assert params(repeat_penalty=1.5, repeat_last_n=64).repetition_penalty == 1.5


def test_open_options_take_the_defaults_of_the_model() -> None:
    given = parse_object(OllamaOptions, {"top_p": 0.5}).sampling_params({"temperature": 0.2, "top_p": 0.9})
    assert (given.temperature, given.top_p) == (0.2, 0.5)


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"temperature": 1_000_001}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"num_predict": -3}, "num_predict"),
        ({"num_predict": 1.5}, "num_predict"),
        ({"repeat_penalty": 0}, "repeat_penalty"),
        ({"repeat_last_n": -2}, "repeat_last_n"),
        ({"stop": ["x"] * 129}, "stop"),
        ({"typical_p": 0.7}, "typical_p"),
        ({"mirostat": 2}, "mirostat"),
        ({"tfs_z": 0.5}, "tfs_z"),
    ],
)
def test_invalid_option_is_rejected_by_name(options: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        params(**options)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("engine_param", "field"),
    [
        ("temperature", "options.temperature"),
        ("max_tokens", "options.num_predict"),
        ("repetition_penalty", "options.repeat_penalty"),
        ("priority", None),
    ],
)
def test_engine_parameter_is_named_as_the_option(engine_param: str, field: str | None) -> None:
    assert option_field(engine_param) == field
