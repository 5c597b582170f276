"""Messages of the chats, and their answers. At temperature 0, a question in its context has one answer."""

from dataclasses import dataclass

from app.load.client import Generation, Message
from bench.soak.client import NotAsExpectedError
from bench.soak.plan import SoakPlan
from bench.workload import passage, question


@dataclass(frozen=True, slots=True)
class Script:
    """The user's side of a conversation, turn by turn."""

    number: int
    system: str
    questions: tuple[str, ...]

    @property
    def opening(self) -> list[Message]:
        """First turn, as messages of OpenAI's API."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.questions[0]}]


def make_scripts(plan: SoakPlan) -> list[Script]:
    """Make scripts, the same for the same seed. Scripts of a family share their system prompt."""
    return [
        Script(
            number,
            passage(plan.system_words, f"{plan.seed}/soak/system/{number % plan.families}"),
            tuple(question(plan.question_words, f"{plan.seed}/soak/{number}/{turn}") for turn in range(plan.turns[1])),
        )
        for number in range(plan.scripts)
    ]


def sampling(plan: SoakPlan) -> dict[str, object]:
    """Return the sampling parameters of every answer. A lower bound of the length keeps answers from being empty."""
    least, most = plan.answer_tokens
    return {"temperature": 0, "seed": plan.seed, "min_tokens": least, "max_tokens": most}


def generation(plan: SoakPlan) -> Generation:
    """Return the same parameters for OpenAI's API, whose prompts are promised too."""
    extra = sampling(plan) | {"prompt_cache_options": {"ttl": "30m"}}
    return Generation(plan.answer_tokens[1], ignore_eos=False, extra=extra)


class Answers:
    """The first answer to each turn of each script.

    compared: number of later answers that were compared with one of them.
    """

    def __init__(self) -> None:
        self.compared = 0
        self._texts: dict[tuple[int, int], str] = {}

    def compare(self, script: Script, turn: int, text: str) -> None:
        """Record the first answer. Raise NotAsExpectedError if a later one differs."""
        first = self._texts.get((script.number, turn))
        if first is None:
            self._texts[script.number, turn] = text
            return
        self.compared += 1
        if text != first:
            detail = f"script {script.number}, turn {turn + 1}: {text!r} after {first!r}"
            raise NotAsExpectedError("another answer", detail)

    def turns(self, script: Script) -> int:
        """Return the number of turns, from the first on, that have an answer."""
        return next(turn for turn in range(len(script.questions) + 1) if (script.number, turn) not in self._texts)
