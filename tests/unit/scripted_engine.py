"""An engine without a model whose answers are a given text, so that they can call tools."""

from tests.unit.fake_chat_format import END
from tests.unit.fake_engine import FakeEngine, FakeStream


class ScriptedEngine(FakeEngine):
    """FakeEngine with answers of `said`, in ASCII, a token for each character."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.said = said

    def _step(self, stream: FakeStream) -> None:
        count = len(stream.produced)
        if stream.params.max_tokens == 0:
            self._finish(stream, "", (), "length")
        elif count == len(self.said):
            self._finish(stream, "", (END,), "stop")
        else:
            self._say(stream, self.said[count], ord(self.said[count]))
