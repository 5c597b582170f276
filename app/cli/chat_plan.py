"""Parameters of `ebb chat`."""

from dataclasses import dataclass, field

from app.cli.bench_plan import API_KEY
from app.config.options import Option, any_text, switch

QUESTION = Option("question", any_text, "QUESTION", "ask this, print the answer and exit")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPlan:
    """One conversation in the terminal.

    question: the only question. Piped input follows it, or is the question without one. None begins a conversation.
    system: the system prompt of a new conversation.
    resumes: whether to continue the newest conversation.
    api_key: left out of the repr.
    """

    question: str | None = None
    system: str | None = None
    resumes: bool = False
    api_key: str | None = field(default=None, repr=False)


CHAT_OPTIONS = (
    Option("system", any_text, "TEXT", "system prompt of the new chat"),
    Option("continue", switch, "", "continue the newest chat"),
    API_KEY,
)
