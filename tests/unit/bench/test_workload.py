"""The workload: the same everywhere, of the size asked for, sharing prefixes only where asked."""

import hashlib
import json

import pytest

from app.load.words import WORDS
from bench.workload import WorkloadShape, history, make_chats, passage, question


def _digest(shape: WorkloadShape) -> str:
    texts = [(chat.system, chat.questions) for chat in make_chats(shape)]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def test_the_workload_is_the_same_in_every_process_and_release() -> None:
    assert _digest(WorkloadShape()) == "5dee92550b0c484f"


def test_another_seed_is_another_workload() -> None:
    assert _digest(WorkloadShape(seed=2)) != _digest(WorkloadShape())


def test_a_passage_has_the_words_asked_for() -> None:
    text = passage(200, "x")

    assert len(text.split()) == 200
    assert {word.strip(".").lower() for word in text.split()} <= set(WORDS)


def test_every_word_of_the_list_is_there_once() -> None:
    assert len(WORDS) == len(set(WORDS)) >= 200


def test_the_last_context_has_about_2000_tokens() -> None:
    chat = make_chats(WorkloadShape())[0]
    answers = [passage(56, f"answer {turn}") for turn in range(5)]

    words = sum(len(message["content"].split()) for message in chat.messages(answers))

    # The vocabularies that the words were chosen for need 1.14 tokens a word.
    assert 1_900 <= words * 1.14 <= 2_050


def test_the_request_of_a_turn_begins_with_the_whole_turn_before() -> None:
    chat = make_chats(WorkloadShape())[3]

    first = chat.messages([])
    second = chat.messages(["An answer."])

    assert second[: len(first)] == first
    assert second[len(first)] == {"role": "assistant", "content": "An answer."}
    assert second[-1] == {"role": "user", "content": chat.questions[1]}


def test_a_script_that_is_over_says_so() -> None:
    chat = make_chats(WorkloadShape(turns=2))[0]

    with pytest.raises(ValueError, match="turn 3 of a script of 2"):
        chat.messages(["a", "b"])


def test_chats_share_a_system_prompt_only_when_asked() -> None:
    own = {chat.system for chat in make_chats(WorkloadShape())}
    shared = {chat.system for chat in make_chats(WorkloadShape(shared_system=True))}

    assert len(own) == 8
    assert len(shared) == 1


def test_no_two_chats_ask_the_same() -> None:
    questions = [question for chat in make_chats(WorkloadShape(shared_system=True)) for question in chat.questions]

    assert len(set(questions)) == len(questions) == 48


def test_a_history_ends_with_the_person_and_alternates() -> None:
    messages = history(1_900, "a")

    assert [message["role"] for message in messages] == ["system", *["user", "assistant"] * 5, "user"]
    assert 1_650 <= sum(len(message["content"].split()) for message in messages) <= 1_950
    assert history(1_900, "b")[0] != messages[0]


def test_a_question_has_the_words_asked_for() -> None:
    assert {len(question(24, f"q{n}").split()) for n in range(20)} == {24}
