"""The number of messages to leave out of a conversation's prompt so that it fits."""

from collections.abc import Sequence

from app.conversations.turns import Turns
from app.domain.left_out import LeftOut
from app.domain.records import Conversation, Message
from app.host.backend import Backend
from engine.api.errors import PromptTooLongError


class Fitting:
    """The prompts that a message can make after a path, by what they leave out.

    now: what is left out unless more is needed.
    """

    def __init__(
        self,
        turns: Turns,
        engine: Backend,
        conversation: Conversation,
        path: Sequence[Message],
        content: str,
        now: LeftOut,
    ) -> None:
        self._turns = turns
        self._engine = engine
        self._conversation = conversation
        self._path = path
        self._content = content
        self._now = now

    async def tokens(self, beginning: LeftOut | None = None) -> int | None:
        """Count the tokens of the prompt without `beginning`, or without what is left out now.

        Returns None if they are too many to be counted.
        """
        beginning = beginning or self._now
        try:
            prompt = await self._turns.prompt_of(self._engine, self._conversation, self._path, self._content, beginning)
        except PromptTooLongError:
            return None
        return len(prompt)

    async def fewest_left_out(self, most: int) -> int | None:
        """Return the least number of messages to leave out so that the prompt has at most `most` tokens.

        Returns None if the prompt has more even without all messages. The number is more than is left out now.
        Fewer messages make fewer tokens, so the number is found by bisection.
        """
        now, end = self._now.left_out, len(self._path)
        starts = [at for at in range(now + 1, end) if self._path[at].role == "user"] + [end] * (end > now)
        low, high = 0, len(starts)
        while low < high:
            middle = (low + high) // 2
            tokens = await self.tokens(LeftOut(starts[middle]))
            low, high = (low, middle) if tokens is not None and tokens <= most else (middle + 1, high)
        return starts[low] if low < len(starts) else None
