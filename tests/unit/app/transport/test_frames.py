import json

from app.transport.frames import JSON_LINES, json_line


def test_line_is_one_line_to_every_client() -> None:
    data = {"text": "a\nb\u2028c\x85\u2029d"}
    line = json_line(data)
    assert len(line.decode().splitlines()) == 1
    assert line.endswith(b"}\n")
    assert json.loads(line) == data


def test_fillers_belong_to_the_line_that_follows() -> None:
    stream = JSON_LINES.filler * 2 + json_line({"a": 1}) + JSON_LINES.filler + json_line({"b": 2})
    assert [json.loads(line) for line in stream.decode().splitlines()] == [{"a": 1}, {"b": 2}]
