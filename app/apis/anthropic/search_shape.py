"""Serializer for answers within which the server searches for tools."""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from app.apis.anthropic.references import FailedSearch, FoundTools
from app.apis.anthropic.serializer import MessageHead, MessageShape, ToolUseShape
from app.apis.call_arguments import arguments_object
from app.domain.records import new_id
from engine.api.outputs import RequestOutput
from models.chat.tool_call_parser import ToolCallParser
from models.chat.tool_calls import ToolCall

SearchResult = FoundTools | FailedSearch


class SearchShape(ToolUseShape):
    """ToolUseShape with a block for each search and each result.

    An answer has several rounds. The results of a round's searches follow its blocks:

        text  server_tool_use | tool_search_tool_result | text  tool_use
        first round           |                         | second round

    is_paused: set if the answer ends with the results of searches. The client sends it back to continue.
    """

    def __init__(
        self, make_parser: Callable[[], ToolCallParser], searches: frozenset[str], **head: Unpack[MessageHead]
    ) -> None:
        """Make the serializer. `searches` are the names of the tools that the server runs."""
        super().__init__(make_parser(), **head)
        self._make_parser = make_parser
        self._searches = searches
        self._rounds: list[tuple[RequestOutput, Sequence[SearchResult]]] = []
        self._asked: list[str] = []
        self._between = b""
        self.is_paused = False

    def end_round(self, output: RequestOutput, results: Sequence[SearchResult]) -> None:
        """Note a round and the results of its searches, before its last output is serialized."""
        self._rounds.append((output, results))

    def next_round(self) -> None:
        """Begin another round of a stream."""
        self._between = self._blocks(self._parser.finish(None)) + self._result_events()
        self._parser = self._make_parser()

    def step(self, output: RequestOutput) -> bytes:
        """See ToolUseShape. The results of the round before come first."""
        between, self._between = self._between, b""
        return between + super().step(output)

    def ending(self, last: RequestOutput) -> bytes:
        """See ToolUseShape. The results of the last round's searches precede the end."""
        rest = self._blocks(self._parser.finish(last.cut_before))
        return rest + self._result_events() + MessageShape.ending(self, last)

    def _begin_call(self, name: str) -> bytes:
        if name not in self._searches:
            return super()._begin_call(name)
        return self._begin_input("server_tool_use", self._search_block(name))

    def _search_block(self, name: str) -> dict[str, Any]:
        self._asked.append(new_id("srvtoolu"))
        return {"type": "server_tool_use", "id": self._asked[-1], "name": name, "input": {}}

    def _result_events(self) -> bytes:
        """Return the blocks with the results of the last round."""
        events = b""
        for block in self._result_blocks(self._rounds[-1][1] if self._rounds else ()):
            events += self._begin_block("tool_search_tool_result", block, lambda _: {}) + self._end_of_block()
            self._block = None
        return events

    def _result_blocks(self, results: Sequence[SearchResult]) -> list[dict[str, Any]]:
        """Return blocks for the searches without one. A search that was cut has no result."""
        asked, self._asked = self._asked, []
        return [
            {
                "type": "tool_search_tool_result",
                "tool_use_id": id_,
                "content": result.model_dump(exclude_none=True),
            }
            for id_, result in zip(asked, results, strict=False)
        ]

    def _content(self, answer: RequestOutput) -> list[dict[str, Any]]:  # noqa: ARG002
        blocks: list[dict[str, Any]] = []
        for output, results in self._rounds:
            self._parser = self._make_parser()
            blocks += [*super()._content(output), *self._result_blocks(results)]
        self._num_calls = sum(block["type"] == "tool_use" for block in blocks)
        return blocks

    def _whole_call(self, call: ToolCall) -> dict[str, Any]:
        if call.name not in self._searches:
            return super()._whole_call(call)
        return {**self._search_block(call.name), "input": arguments_object(call)}

    def _stop_reason(self, last: RequestOutput) -> str:
        reason = super()._stop_reason(last)
        return "pause_turn" if self.is_paused and reason == "end_turn" else reason
