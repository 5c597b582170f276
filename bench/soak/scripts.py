"""What the chats say, and what they were answered: at temperature 0 a question in its place has one answer."""

from dataclasses import dataclass

from app.load.client import Generation, Message
from bench.soak.client import NotAsExpectedError
from bench.soak.plan import SoakPlan
from bench.workload import passage, question


@dataclass(frozen=True, slots=True)
class Script:
    """One person's side of a conversation, turn by turn."""

    number: int
    system: str
    questions: tuple[str, ...]

    @property
    def opening(self) -> list[Message]:
        """Its first turn as OpenAI's API takes it."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.questions[0]}]


def make_scripts(plan: SoakPlan) -> list[Script]:
    """The same for the same seed. Those of a family begin alike."""
    return [
        Script(
            number,
            passage(plan.system_words, f"{plan.seed}/soak/system/{number % plan.families}"),
            tuple(question(plan.question_words, f"{plan.seed}/soak/{number}/{turn}") for turn in range(plan.turns[1])),
        )
        for number in range(plan.scripts)
    ]


def sampling(plan: SoakPlan) -> dict[str, object]:
    """How every answer is asked for. Never empty: a lower bound on its length is part of it."""
    least, most = plan.answer_tokens
    return {"temperature": 0, "seed": plan.seed, "min_tokens": least, "max_tokens": most}


def generation(plan: SoakPlan) -> Generation:
    """The same for OpenAI's API."""
    return Generation(plan.answer_tokens[1], ignore_eos=False, extra=sampling(plan))


class Answers:
    """The first answer to each turn of each script. compared: how many others were held against one of them."""

    def __init__(self) -> None:
        self.compared = 0
        self._texts: dict[tuple[int, int], str] = {}

    def compare(self, script: Script, turn: int, text: str) -> None:
        """Raises NotAsExpectedError if it is not the same as the first one."""
        first = self._texts.get((script.number, turn))
        if first is None:
            self._texts[script.number, turn] = text
            return
        self.compared += 1
        if text != first:
            detail = f"script {script.number}, turn {turn + 1}: {text!r} after {first!r}"
            raise NotAsExpectedError("another answer", detail)

    def turns(self, script: Script) -> int:
        """How many turns from the first on have an answer."""
        return next(turn for turn in range(len(script.questions) + 1) if (script.number, turn) not in self._texts)
