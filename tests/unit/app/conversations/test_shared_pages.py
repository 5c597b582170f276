"""Pages of links to chats: what is read, rendered and held for their readers."""

import asyncio
from collections.abc import Sequence

from app.conversations.shared_page_texts import texts_for
from app.conversations.shared_pages import SharedPages
from app.domain.records import Message
from app.domain.share import ShareLink
from app.tenants.tenant_threads import TenantThreads

SHARE = ShareLink(
    id="share_1",
    tenant="alice",
    conversation_id="conv_1",
    message_id="msg_1",
    title="Title",
    shows_receipts=False,
    created_at=1.0,
    expires_at=2.0,
)
QUESTION = Message(
    id="msg_1",
    conversation_id="conv_1",
    parent_id=None,
    role="user",
    content="Why is the sea salty?",
    status="complete",
    created_at=1.0,
)


async def test_readers_share_the_bytes_of_a_page() -> None:
    threads, num_reads = TenantThreads(), 0

    async def messages() -> Sequence[Message]:
        nonlocal num_reads
        num_reads += 1
        return [QUESTION]

    pages, texts = SharedPages(threads), texts_for("en")
    found = await asyncio.gather(*(pages.page(SHARE, messages, texts) for _ in range(4)))
    found.append(await pages.page(SHARE, messages, texts))
    assert b"Why is the sea salty?" in found[0]
    assert all(each is found[0] for each in found)
    assert num_reads == 1
    threads.close()
