import pytest

from app.apis.openai.chat_schema import ChatCompletionRequest
from app.prompts.thinking import preferred_mode, required_mode
from app.schemas.parsing import parse_object
from engine.errors import InvalidRequestError
from models.thinking import PANGU_SUFFIXES, MarkedThinking, ThinkingMode
from tests.unit.fake_engine import FakeEngine

PANGU = MarkedThinking(1, 2, PANGU_SUFFIXES)
SWITCHED = MarkedThinking(1, 2, {"slow": "", "off": ""})
EFFORTS = MarkedThinking(1, 2, {"slow": "", "auto": ""})
ALWAYS = MarkedThinking(1, 2, {"slow": ""})


def engine(thinking: MarkedThinking | None) -> FakeEngine:
    made = FakeEngine()
    made.chat_format.thinking = thinking
    return made


@pytest.mark.parametrize(
    ("thinking", "effort", "mode"),
    [
        (PANGU, "none", "off"),
        (PANGU, "minimal", "off"),
        (PANGU, "low", "auto"),
        (PANGU, "medium", "slow"),
        (PANGU, "xhigh", "slow"),
        (PANGU, None, None),
        (SWITCHED, "low", "slow"),
        (ALWAYS, "none", None),
        (EFFORTS, "none", "auto"),
        (EFFORTS, "low", "auto"),
        (EFFORTS, "medium", None),
        (EFFORTS, "high", "slow"),
        (None, "high", None),
    ],
)
def test_effort_is_only_a_hint(thinking: MarkedThinking | None, effort: str | None, mode: ThinkingMode | None) -> None:
    assert preferred_mode(engine(thinking), effort) == mode


def test_unsupported_thinking_mode_is_rejected() -> None:
    assert required_mode(engine(PANGU), "auto", param="thinking") == "auto"
    assert required_mode(engine(None), "off", param="thinking") is None
    impossible: list[tuple[MarkedThinking | None, ThinkingMode]] = [(None, "slow"), (SWITCHED, "auto"), (ALWAYS, "off")]
    for thinking, mode in impossible:
        with pytest.raises(InvalidRequestError, match="fake-1") as refused:
            required_mode(engine(thinking), mode, param="params.thinking")
        assert refused.value.param == "params.thinking"


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ({}, None),
        ({"reasoning_effort": "none"}, "off"),
        ({"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "none"}, "slow"),
        ({"thinking": "auto", "chat_template_kwargs": {"enable_thinking": False}}, "auto"),
        ({"chat_template_kwargs": {}}, None),
    ],
)
def test_most_explicit_field_wins(fields: dict[str, object], mode: ThinkingMode | None) -> None:
    body = {"model": "x", "messages": [{"role": "user", "content": "Hi"}], **fields}
    assert parse_object(ChatCompletionRequest, body).thinking_mode(engine(PANGU)) == mode


def test_unknown_template_argument_is_rejected_by_name() -> None:
    body = {"model": "x", "messages": [{"role": "user", "content": "Hi"}], "chat_template_kwargs": {"x": 1}}
    with pytest.raises(InvalidRequestError) as refused:
        parse_object(ChatCompletionRequest, body)
    assert refused.value.param == "chat_template_kwargs.x"
