"""A hundred searches, which find and mark the same on a file and on the database that `ebb migrate` made of it."""

from collections.abc import AsyncIterator
from dataclasses import asdict
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

import pytest

from app.storage.search_filter import SearchFilter
from app.storage.search_words import INDEXED_CHARACTERS
from app.storage.snippets import Snippet
from app.storage.store import Store
from tests.on_postgres import url_of
from tests.postgres.test_copying import copy, store_at
from tests.unit.stored_chats import answered

LONG: Final = f"{' '.join(f'w{number}' for number in range(20_000))} 北京天气很好 nadelimheuhaufen zwei worte"
ADLAM: Final = "".join(map(chr, range(0x1E922, 0x1E944)))
LETTERS: Final = "".join(map(chr, (*range(0x13A0, 0x13F0), *range(0x1200, 0x1240))))
"""Letters of four and of three bytes."""

REPEATED: Final = f"{'的 ' * 40_000}结束 的事 done"

CHATS: Final = {
    "Tides": ["The high tide comes at noon", "Low tide, high water", "tidal e-mail and foo-bar, foo bar, foobar"],
    "Die Straße am Meer": ["Straße und STRASSE, Größe", "eine strasse ohne Ende"],
    "strasse": ["ﬁne ﬂow Ⅳ ①", "fine iv 1"],
    "Σίσυφος": ["ΣΊΣΥΦΟΣ", "σίσυφος λόγος", "йод и иод, Ёлка"],
    "كتاب": ["كِتَابٌ جديد", "كتاب قديم", "שָׁלוֹם עולם"],
    "हिन्दी": ["हिन्दी में", "हिनदी", "किताब का"],
    "カガ": ["ガギグ", "ｶﾞｷﾞ と カキ", "か\u3099ぎ", "明日の東京の天気は晴れ、京都は雨"],
    "한국의 바다": ["한국의 바다에서", "\u1112\u1161\u11ab국"],
    "ภาษาไทย": ["สวัสดีชาวโลก กุ้ง", "ກຸ່ມ ລາວ"],
    "a\0title b": ["before\0after the nul", "\0", "x\0\0y"],
    "c++ and C#": ["c++ or c#? 100 %", "a_b snake_case under", "Linux™ kernel, 20℃, 5㎏, x² and ½"],
    "Crème brûlée": ["Crème brûlée iğdır İzmir", "Donau\u00addampf, naïve façade", "cre\u0300me\u0316"],
    "Long": [LONG, REPEATED],
    "Emoji 😀": ["😀 tide 🌊🌊", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﷺ", "1\ufe0f\u20e3 葛\U000e0100城"],
    "Again tide": ["tide " * 3000 + "lighthouse", "'quoted' \"tide\" \\ back", "lighthouse keeper harbour"],
}

QUESTIONS: Final = """
tide|high tide|tid|tid |TIDE high|e-mail|foo-bar|foo bar|foobar|water low
strasse|STRASSE|Straße|straß|große|grosse|strase|ohne ende|meer|strasse meer
fine|ﬁne|flow|iv|Ⅳ|1|①|σισυφος|ΣΊΣΥΦΟΣ|λογοσ
иод|йод|елка|كتاب|كِتَابٌ|כתב|שלום|हिनदी|हिन्दी|हिन
का|क|कि|カ|ガ|カギ|ガギ|ｶﾞ|が|東京
京都|東京の天気|気|天气|北京天气|北京天气很好|很好|한국|바다|한
국의|ไทย|ภาษา|กุ|ชาวโลก|ລາວ|after|title b|nul|before after
c++|c#|100 %|a_b|snake|linux kernel|linux |20|5kg|x2
creme|crème brulee|igdir|iğdır|izmir|donaudampf|naive facade|naïv|w19999|w1999 w19998
nadelimheuhaufen|zwei worte|w20001|的事|结束|unicode|صلى الله|葛城|lighthuose|hrabour kepeer
"""


FORMS: Final = {
    "strasse": {"strasse", "Straße", "STRASSE"},
    "fine": {"fine", "ﬁne"},
    "иод": {"йод", "иод"},
    "كتاب": {"كتاب", "كِتَابٌ"},
    "हिनदी": {"हिनदी", "हिन्दी"},
    "カ": {"カ"},
    "ガ": {"ガ", "ｶﾞ"},
    "after": {"after"},
}
"""Words, each with what is marked in the messages that contain it."""

IN_LONG_MESSAGES: Final = ("nadelimheuhaufen", "w19999", "w1999 w19998", "zwei-worte", "北京天气", "的事 done")


@pytest.fixture
def asked() -> list[str]:
    questions = [each for line in QUESTIONS.strip().splitlines() for each in line.split("|")]
    assert len(questions) == 100
    return questions


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[Store, Store]]:
    """Return the stores of a file and of its copy in PostgreSQL."""
    path, url = tmp_path / "conversations.db", url_of(tmp_path)
    file = await store_at(path)
    for number, (title, contents) in enumerate(CHATS.items()):
        conversation = await file.conversations.create({"title": title, "tags": ("even",) if number % 2 == 0 else ()})
        last = None
        for content in contents:
            _, last = await answered(file, conversation, content, last)
    # The order of titles is that of their changes, and that of messages is not that of their ids.
    [tides] = await file.search.titles("tides", limit=1)
    await file.conversations.change(tides.id, {"title": "Tides of the sea"})
    await answered(file.of("other"), await file.of("other").conversations.create({"title": "tide"}), "tide lighthuose")
    await file.upkeep.index_all()
    await copy(path, url)
    server = await Store.open_postgres(url)
    yield file, server
    await file.close()
    await server.close()


async def found(store: Store, query: str, within: SearchFilter) -> dict[str, Any]:
    """Return what a request finds, as `app.routes.search` asks, with U+FFFD for NUL as PostgreSQL stores it."""
    messages = await store.search.messages(query, limit=5, within=within)
    more = await store.search.messages(query, limit=5, within=within, before=messages[-1].number) if messages else []
    titles = await store.search.titles(query, limit=20, within=within)
    corrections = [] if messages or titles else await store.search.corrections(query)
    return {
        "messages": [{**asdict(each), "title": _stored(each.title)} for each in (*messages, *more)],
        "titles": [{**asdict(each), "title": _stored(each.title)} for each in titles],
        "corrections": corrections,
    }


def _stored(title: str | None) -> str | None:
    return title.replace("\0", "\N{REPLACEMENT CHARACTER}") if title is not None else None


async def test_file_and_its_copy_answer_the_same(both: tuple[Store, Store], asked: list[str]) -> None:
    file, server = both
    for within in (SearchFilter(), SearchFilter(role="user"), SearchFilter(tag="even")):
        for query in asked:
            assert await found(file, query, within) == await found(server, query, within), (query, within)


async def test_words_are_found_and_marked_in_every_form(both: tuple[Store, Store]) -> None:
    for store in both:
        for query, marked in FORMS.items():
            messages = await store.search.messages(f"{query} ", limit=20)
            assert {mark for each in messages for mark in _marks(each.snippet)} == marked, query
        for query in IN_LONG_MESSAGES:
            assert len(await store.search.messages(f"{query} ", limit=20)) == 1, query


async def test_messages_of_different_words_alone_are_stored(tmp_path: Path) -> None:
    # A value of the index has at most a megabyte, and an entry at most 2,046 bytes.
    store = await Store.open_postgres(url_of(tmp_path))
    conversation = await store.conversations.create({})
    for letters in ("abcdefghijklmnopqrstuvwxyz", "абвгдежзклмнопрст", "अआइईउऊएऐओऔकखगघङचछजझञटठ", ADLAM, LETTERS):
        for length in (2, 4, 9, 600):
            words = islice(map("".join, product(letters, repeat=length)), INDEXED_CHARACTERS // (length + 1))
            await answered(store, conversation, " ".join(words))
            first = letters[0] * length
            assert len(await store.search.messages(f"{first} ", limit=5)) == 1, (letters, length)
    await store.close()


def _marks(snippet: Snippet) -> list[str]:
    utf16 = snippet.text.encode("utf-16-le")
    return [utf16[2 * start : 2 * end].decode("utf-16-le") for start, end in snippet.matches]
