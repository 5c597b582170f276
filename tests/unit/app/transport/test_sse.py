import json

from app.transport.sse import data_frame, encode_json, event_frame, numbered_frame


def test_frame_is_one_event_in_standard_format() -> None:
    frame = event_frame("delta", encode_json({"text": "a\nb"}), "run:0.2")
    assert frame == b'id: run:0.2\nevent: delta\ndata: {"text":"a\\nb"}\n\n'


def test_number_of_an_event_is_its_id() -> None:
    frame = numbered_frame({"type": "response.created", "sequence_number": 12})
    assert frame == b'event: response.created\ndata: {"type":"response.created","sequence_number":12}\nid: 12\n\n'


def test_text_of_any_script_round_trips() -> None:
    text = 'ぷ 🌊 é "quoted" \\ \u2028 \x00'
    assert json.loads(data_frame({"text": text}).removeprefix(b"data: ").decode()) == {"text": text}


def test_unicode_line_ends_do_not_split_a_frame() -> None:
    text = "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i"
    frame = data_frame({"text": text}).decode()
    assert len(frame.rstrip("\n").splitlines()) == 1
    assert json.loads(frame.removeprefix("data: ")) == {"text": text}
