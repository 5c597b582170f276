"""Messages of the server without the folders of its machine."""

import pytest

from app.host.hidden_folders import without_folders


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        (
            "/srv/models/llama is not a model folder: it has no config.json",
            "llama is not a model folder: it has no config.json",
        ),
        ("the tensors in /srv/models/llama do not fit the model", "the tensors in llama do not fit the model"),
        ("/var/lib/ebb/ebb.db ends at noon: its log (-wal) was lost", "ebb.db ends at noon: its log (-wal) was lost"),
        ("[Errno 2] No such file: '/srv/a/b.json'", "[Errno 2] No such file: 'b.json'"),
        ("Redis unix:///tmp/x%20y/redis.sock, off", "Redis redis.sock, off"),
        ("cannot read /srv/x/\udcff", "cannot read \\udcff"),
        (
            "see https://example.org/a/b and 3 / 4 and/or org/model",
            "see https://example.org/a/b and 3 / 4 and/or org/model",
        ),
    ],
)
def test_absolute_paths_lose_their_folders(sentence: str, shown: str) -> None:
    assert without_folders(sentence) == shown
