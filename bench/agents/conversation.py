"""One conversation of an agent with a separate server, and the beginning of a second one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.agents.figures import Result, Tokens, Turn, logged
from bench.agents.programs import Agent, Aider, ClaudeCode
from bench.agents.project import NEXT_QUESTION, QUESTIONS, Project
from bench.agents.recorder import Recorded, Recorder, write_bodies
from bench.agents.report import ARMS, AS_SENT, KILLED
from bench.server import EbbServer, ServerSettings, settle

KILL_BEFORE: Final = (4, 7, 10)
"""Turns before which the server is killed. The supervising process restarts it five times at most."""
SETTLE_SECONDS: Final = 10.0
_AS_SENT_FLAGS: Final = ("--prompts-as-sent",)
_AGENTS: Final[Mapping[str, type[ClaudeCode] | type[Aider]]] = {"claude-code": ClaudeCode, "aider": Aider}
CLIENTS: Final = tuple(_AGENTS)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation that has yet to be run.

    program: the client's program.
    model: folder of the model.
    folder: place of the server's state, the project and the client's own files, which does not exist yet.
    bodies: folder for the bodies of the requests; None keeps none.
    """

    client: str
    arm: str
    program: Path
    model: Path
    folder: Path
    bodies: Path | None = None

    async def run(self) -> Result:
        """Run all turns. Raise AgentFailedError, MissingFiguresError or ServerFailedError."""
        assert self.arm in ARMS
        kind = _AGENTS[self.client]
        state = self.folder / "state"
        async with EbbServer(ServerSettings(f"{self.client}, {self.arm}", self._flags()), state) as server:
            assert server.base_url is not None
            async with Recorder(server.base_url) as recorder:
                project = Project(self.folder / "project", kind.rules_name)
                agent: Agent = kind(self.program, project, self.folder / "home", recorder.url)
                turns: list[Turn] = []
                for number, question in enumerate(QUESTIONS, start=1):
                    killed = self.arm == KILLED and number in KILL_BEFORE
                    if killed:
                        await settle(server, SETTLE_SECONDS)
                        await server.kill_below_supervisor()
                    await agent.ask(question, continues=number > 1)
                    turns.append(await self._turn(number, killed, agent, recorder.take(), server.log))
                    project.edit(number)
                await agent.ask(NEXT_QUESTION, continues=False)
                following = await self._turn(len(turns) + 1, False, agent, recorder.take(), server.log)
        return Result(self.client, agent.version, self.arm, tuple(turns), following)

    def _flags(self) -> tuple[str, ...]:
        return (
            *("--model", str(self.model), "--model-alias", f"claude-*={self.model.name}"),
            *("--max-answer-tokens", "1024", "--chat-titles", "first-words"),
            *("--log-format", "json", "--log-level", "debug"),
            *(_AS_SENT_FLAGS if self.arm == AS_SENT else ()),
        )

    async def _turn(self, number: int, after_kill: bool, agent: Agent, requests: list[Recorded], log: Path) -> Turn:
        """Add up the figures of a turn's requests."""
        if self.bodies is not None:
            write_bodies(requests, self.bodies / self.client / self.arm / f"turn-{number:02}")
        lines = await logged(log, {each.request_id for each in requests})
        prompts = {
            each.request_id: Tokens.of_line(lines[each.request_id])
            for each in requests
            if "prompt_tokens" in lines[each.request_id]
        }
        of_turn = {each.request_id for each in requests if each.request_id in prompts and agent.is_turn(each.body)}
        others = prompts.keys() - of_turn
        return Turn(
            number,
            after_kill,
            len(of_turn),
            _sum(prompts, of_turn),
            len(others),
            _sum(prompts, others),
        )


def _sum(prompts: Mapping[str, Tokens], chosen: set[str]) -> Tokens:
    return sum((prompts[each] for each in chosen), Tokens())
