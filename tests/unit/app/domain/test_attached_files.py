"""Files in messages: told apart from what was typed, and shown without their marks."""

from app.conversations.export import markdown_messages, text_messages
from app.domain.attached_files import AttachedFile, in_plain_words, split_files
from app.domain.records import Message
from app.storage.snippets import SnippetMaker

CONTENT = (
    'What is the quantity?\n\n<file name="c.csv">\nname,qty\npears,4\n</file>'
    '\n\n<file name="d.md">\n```\na\n```\n</file>'
)


def said(content: str) -> Message:
    return Message(
        id="msg_1",
        conversation_id="conv_1",
        parent_id=None,
        role="user",
        content=content,
        status="complete",
        created_at=0,
        completed_at=0,
    )


def test_message_is_split_into_typed_text_and_files() -> None:
    files = [AttachedFile("c.csv", "name,qty\npears,4"), AttachedFile("d.md", "```\na\n```")]
    assert split_files(CONTENT) == ("What is the quantity?", files)
    assert split_files('No <file name="x">') == ('No <file name="x">', [])


def test_part_of_a_message_shows_names_in_place_of_marks() -> None:
    assert in_plain_words(CONTENT[:-12]).endswith("quantity?\n\nc.csv: name,qty\npears,4\n\nd.md: ```\na")


def test_search_shows_no_marks_of_files() -> None:
    snippet = SnippetMaker("pears ").snippet(CONTENT)
    assert "file" not in snippet.text
    [(start, end)] = snippet.matches
    assert snippet.text[start:end] == "pears"


def test_exports_show_files_as_code_and_after_their_names() -> None:
    assert markdown_messages([said(CONTENT)]) == (
        "\n\n## You\n\nWhat is the quantity?\n\n**c.csv**\n\n```\nname,qty\npears,4\n```"
        "\n\n**d.md**\n\n````\n```\na\n```\n````"
    )
    assert text_messages([said(CONTENT)]).endswith("quantity?\n\nc.csv:\nname,qty\npears,4\n\nd.md:\n```\na\n```")
