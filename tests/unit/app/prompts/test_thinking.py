import pytest

from app.apis.openai.chat_schema import ChatCompletionRequest
from app.prompts.thinking import note_vain_budget, preferred_mode, required_mode
from app.schemas.parsing import parse_object
from engine.api.errors import InvalidRequestError
from engine.testing.replay_engine import ReplayEngine
from models.thinking import PANGU_SUFFIXES, MarkedThinking, ThinkingMode

PANGU = MarkedThinking(1, 2, PANGU_SUFFIXES)
SWITCHED = MarkedThinking(1, 2, {"slow": "", "off": ""})
EFFORTS = MarkedThinking(1, 2, {"slow": "", "auto": ""})
ALWAYS = MarkedThinking(1, 2, {"slow": ""})


def engine(thinking: MarkedThinking | None) -> ReplayEngine:
    made = ReplayEngine()
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


ENABLED = {"type": "enabled", "budget_tokens": 7}


@pytest.mark.parametrize(
    ("fields", "budget", "name"),
    [
        ({"thinking_token_budget": 3}, 3, "thinking_token_budget"),
        ({"thinking_token_budget": 0, "reasoning_budget_tokens": 5}, 0, "thinking_token_budget"),
        ({"thinking_budget_tokens": 4, "reasoning_budget_tokens": 5}, 4, "thinking_budget_tokens"),
        ({"reasoning_budget_tokens": 5, "thinking": ENABLED}, 5, "reasoning_budget_tokens"),
        ({"thinking": ENABLED}, 7, "thinking.budget_tokens"),
        ({"thinking": {**ENABLED, "type": "disabled"}}, None, None),
        ({"thinking_token_budget": -1}, None, None),
    ],
)
def test_budget_has_the_names_of_other_servers(fields: dict[str, object], budget: int | None, name: str | None) -> None:
    body = {"model": "x", "messages": [{"role": "user", "content": "Hi"}], "reasoning_budget_message": "!", **fields}
    request = parse_object(ChatCompletionRequest, body)
    params, noted = request.sampling_params(), list[str]()
    assert (params.thinking_token_budget, params.reasoning_budget_message) == (budget, "!")
    for thinking in (PANGU, None):
        note_vain_budget(engine(thinking), params, noted.append, request.client_field)
    assert noted == ([name] if name is not None else [])


@pytest.mark.parametrize("budget", [-2, 1.5, "9", True])
def test_budget_that_is_no_count_is_refused(budget: object) -> None:
    body = {"model": "x", "messages": [{"role": "user", "content": "Hi"}], "thinking_token_budget": budget}
    with pytest.raises(InvalidRequestError) as refused:
        parse_object(ChatCompletionRequest, body)
    assert refused.value.param == "thinking_token_budget"


def test_unknown_template_argument_is_rejected_by_name() -> None:
    body = {"model": "x", "messages": [{"role": "user", "content": "Hi"}], "chat_template_kwargs": {"x": 1}}
    with pytest.raises(InvalidRequestError) as refused:
        parse_object(ChatCompletionRequest, body)
    assert refused.value.param == "chat_template_kwargs.x"
