"""Settings of prompts and of stored chats and responses."""

from dataclasses import dataclass

from app.config.options import integer, one_of, setting, switch
from app.config.parsers import parse_line_patterns
from models.chat.call_syntax.registry import AUTO as AUTO_FORMAT
from models.chat.call_syntax.registry import NAMES as TOOL_FORMATS


@dataclass(frozen=True, kw_only=True)
class AnswerSettings:
    """Treatment of prompts, chats and stored responses."""

    chat_titles: str = setting(
        "model",
        one_of("model", "first-words"),
        "KIND",
        (
            "titles of unnamed chats: `model` generates them while idle, `first-words` takes the beginning of "
            "the first message"
        ),
    )
    response_days: int = setting(
        30,
        integer(0, 36_500),
        "DAYS",
        (
            "days of serving after which a stored response expires, unless it is in a conversation that its "
            "client named; `0`: never"
        ),
    )
    deleted_days: int = setting(
        30,
        integer(0, 36_500),
        "DAYS",
        "days of serving for which a deleted conversation or message can be restored; `0`: ten minutes",
    )
    share_links: bool = setting(
        False, switch, "", "let people make [links](reference/api/conversations.md#links) that show a chat to anyone"
    )
    tool_format: str = setting(
        AUTO_FORMAT,
        one_of(AUTO_FORMAT, *TOOL_FORMATS),
        "NAME",
        (
            "[format](reference/models.md#tools-and-reasoning) of tool calls, if `ebb doctor` finds none or a wrong "
            "one in the chat template"
        ),
    )
    strict_fields: bool = setting(
        False,
        switch,
        "",
        (
            "refuse [fields](reference/api/README.md#fields) that Ebb does not know on OpenAI's, Anthropic's and "
            "Ollama's routes; "
            "otherwise they are ignored, and the response names them"
        ),
    )
    no_prefix_cache: bool = setting(False, switch, "", "recompute every prompt: no reuse from any tier")
    removed_lines: tuple[str, ...] = setting(
        (),
        parse_line_patterns,
        "LINE,...",
        (
            "lines to leave out of the system prompts of API clients, alongside the [known ones](decisions/"
            "stable-prefixes.md); `*` stands for any text: `Trace id: *`"
        ),
        default_text="none",
    )
    moved_lines: tuple[str, ...] = setting(
        (),
        parse_line_patterns,
        "LINE,...",
        "lines to move from there to the first message of the user: `Open files: *,Branch: *`",
        default_text="none",
    )
    prompts_as_sent: bool = setting(
        False,
        switch,
        "",
        (
            "leave the prompts of API clients as they are: remove and move no lines, not even those of "
            "`removed-lines` and `moved-lines`, and describe tools in the client's order"
        ),
    )
