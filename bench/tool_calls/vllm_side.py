"""Program that reads answers with vLLM's parsers. Runs in vLLM's environment, so it imports nothing of Ebb.

Reads one JSON object per format from standard input and writes one per format to standard output. The parsers are made
and called as `vllm/entrypoints/openai/chat_completion/serving.py` of vLLM 0.32.0 does: the parser adjusts the request,
vLLM's own detokenizer makes the text, and a stream ends with a piece that has the token at the end of the answer.
"""

import importlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TextIO


class Reader:
    """Reader of the answers of one format."""

    def __init__(self, work: dict[str, Any]) -> None:
        """Prepare the parser. Raise whatever vLLM raises."""
        library = importlib.import_module("tokenizers")
        backend = importlib.import_module("transformers").PreTrainedTokenizerFast
        managers = importlib.import_module("vllm.parser.parser_manager")
        protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
        detokenizers = importlib.import_module("vllm.v1.engine.detokenizer")
        self._tokenizer = backend(tokenizer_object=library.Tokenizer.from_str(json.dumps(work["tokenizer"])))
        self._end_id = work["end_id"]
        self._prompt_ids = work["prompt_ids"]
        self._tools = [{"type": "function", "function": tool} for tool in work["tools"]]
        self._request_type = protocol.ChatCompletionRequest
        self._detokenizer_type = detokenizers.FastIncrementalDetokenizer
        self._parser_type = managers.ParserManager.get_parser(
            tool_parser_name=work["parser"], enable_auto_tools=True, tokenizer=self._tokenizer
        )

    def read(self, pieces: Sequence[Sequence[int]], *, is_cut: bool, is_whole: bool) -> dict[str, Any]:
        """Read one answer. Return its text and its calls, as `bench.tool_calls.outcome` names them."""
        try:
            return self._whole(pieces, is_cut) if is_whole else self._streamed(pieces, is_cut)
        except Exception as error:
            traceback.print_exc()
            return {"text": "", "calls": [], "error": f"{type(error).__name__}: {error}"[:200]}

    def _begin(self, *, is_stream: bool) -> tuple[Any, Any, Any]:
        """Return a request, its parser and its detokenizer."""
        request = self._request_type(
            model="model",
            messages=[{"role": "user", "content": "Hello"}],
            tools=self._tools,
            tool_choice="auto",
            stream=is_stream,
        )
        parser = self._parser_type(self._tokenizer, request.tools, chat_template_kwargs={})
        request = parser.adjust_request(request)
        params = SimpleNamespace(
            stop=None,
            min_tokens=0,
            include_stop_str_in_output=False,
            skip_special_tokens=request.skip_special_tokens,
            spaces_between_special_tokens=request.spaces_between_special_tokens,
        )
        head = SimpleNamespace(request_id="1", sampling_params=params, prompt_token_ids=self._prompt_ids)
        return request, parser, self._detokenizer_type(self._tokenizer, head)

    def _whole(self, pieces: Sequence[Sequence[int]], is_cut: bool) -> dict[str, Any]:
        request, parser, detokenizer = self._begin(is_stream=False)
        ids = [id_ for piece in pieces for id_ in piece] + ([] if is_cut else [self._end_id])
        detokenizer.update(ids, not is_cut)
        text = detokenizer.get_next_output_text(True, False)
        parser.set_prompt_token_ids(self._prompt_ids)
        _, content, calls = parser.parse(text, request, enable_auto_tools=True, model_output_token_ids=ids)
        found = [{"name": call.name, "arguments": call.arguments, "at": 0} for call in calls or []]
        return {"text": content or "", "calls": found, "error": ""}

    def _streamed(self, pieces: Sequence[Sequence[int]], is_cut: bool) -> dict[str, Any]:
        request, parser, detokenizer = self._begin(is_stream=True)
        arriving = [list(piece) for piece in pieces]
        if not is_cut and len(arriving) == 1:
            arriving[0].append(self._end_id)
        elif not is_cut:
            arriving.append([self._end_id])
        text, calls = "", dict[int, dict[str, Any]]()
        for number, ids in enumerate(arriving):
            is_last = number + 1 == len(arriving)
            detokenizer.update(ids, is_last and not is_cut)
            delta = parser.parse_delta(
                delta_text=detokenizer.get_next_output_text(is_last, True),
                delta_token_ids=ids,
                request=request,
                prompt_token_ids=self._prompt_ids,
                finished=is_last,
            )
            if delta is not None:
                text += delta.content or ""
                for part in delta.tool_calls or []:
                    _add(part, number, calls)
        return {"text": text, "calls": [calls[index] for index in sorted(calls)], "error": ""}


def _add(part: Any, number: int, calls: dict[int, dict[str, Any]]) -> None:
    """Add a part of a call to the calls by index, as clients do."""
    call = calls.setdefault(part.index, {"name": "", "arguments": "", "at": number})
    if part.function is not None:
        call["name"] = call["name"] or part.function.name or ""
        call["arguments"] += part.function.arguments or ""


def answered(work: dict[str, Any]) -> dict[str, Any]:
    """Read all answers of one format. Return the outcomes by case and way, or why the parser cannot be used."""
    try:
        reader = Reader(work)
    except Exception as error:
        traceback.print_exc()
        return {"unusable": f"{type(error).__name__}: {error}"[:300], "outcomes": {}}
    outcomes = {
        answer["name"]: {
            way: reader.read(pieces, is_cut=answer["is_cut"], is_whole=way == work["whole"])
            for way, pieces in answer["arrivals"].items()
        }
        for answer in work["answers"]
    }
    return {"unusable": "", "outcomes": outcomes}


def main() -> None:
    """Read the formats one after another."""
    replies = _only_replies()
    for line in sys.stdin:
        replies.write(json.dumps(answered(json.loads(line))) + "\n")
        replies.flush()


def _only_replies() -> TextIO:
    """Return standard output, and let everything else that is printed go to standard error."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return replies


if __name__ == "__main__":
    main()
