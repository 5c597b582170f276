"""One answer of the replaying engine."""

from collections.abc import Callable

from engine.api.generate_request import GenerateRequest
from engine.api.request_stream import RequestStream
from engine.api.sampling_params import SamplingParams
from engine.testing.byte_tokenizer import END, text_of


class ReplayedAnswer(RequestStream):
    """Stream of an answer, with the fields of its request.

    produced: ids of the answer so far, including those that the request came with.
    text: text of the answer so far, if the request has stop strings.
    """

    def __init__(
        self,
        request_id: str,
        request: GenerateRequest,
        params: SamplingParams,
        abort: Callable[[str], None],
        *,
        most_merged: int,
    ) -> None:
        """Create the answer.

        params: the resolved parameters.
        most_merged: number of unread outputs that are merged into one.
        """
        before = text_of([id_ for id_ in request.produced if id_ != END])
        super().__init__(request_id, params, abort, before, most_merged=most_merged)
        self.prompt = tuple(request.prompt_token_ids)
        self.tenant = request.tenant
        self.adapter = request.adapter
        self.urgency = request.urgency
        self.keep_kv = request.keep_kv
        self.is_stored = request.is_stored
        self.num_marked = request.num_marked
        self.promise = request.promise
        self.progress_every = request.progress_every
        self.produced = list(request.produced)
        self.text = self.text_before
        self._on_place = request.on_place

    def take_place(self) -> None:
        """Notify the sender, once, that the request has its place in the batch."""
        if self._on_place is not None:
            self._on_place()
            self._on_place = None
