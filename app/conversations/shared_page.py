"""The page of a shared chat: HTML without scripts, in which nothing that a message contains becomes markup of the page.

Questions are shown as they were typed, and answers as their Markdown means. A reader's browser sends no request to
anyone. Reasoning, system prompts and other branches are not part of the page.
"""

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from app.conversations.shared_markdown import RenderTimeError, SharedMarkdown
from app.conversations.shared_page_texts import SharedPageTexts
from app.domain.attached_files import split_files
from app.domain.records import Message
from app.domain.share import ShareLink

MAX_RENDERED: Final = 200_000
"""Characters of all answers that are rendered. Longer text is shown as it is written, which costs less."""

_STYLE: Final = """
:root { color-scheme: light dark; --text: #16232b; --soft: #52646e; --page: #fbfcfd; --low: #eef4f6; --line: #cfdbe0; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4edf1; --soft: #9db0ba; --page: #10191f; --low: #18242b; --line: #2c3c45; }
}
body { margin: 0 auto; padding: 24px 16px 64px; max-width: 72ch; background: var(--page); color: var(--text);
  font: 16px/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 22px; line-height: 1.3; }
.speaker { margin: 32px 0 4px; color: var(--soft); font-size: 13px; }
main h1, main h2:not(.speaker), main h3 { margin: 24px 0 8px; font-size: 18px; }
.note, .receipt, footer { color: var(--soft); font-size: 13.5px; }
.question { padding: 10px 14px; border-radius: 8px; background: var(--low); white-space: pre-wrap; }
pre { padding: 12px; overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--low); }
pre ins, pre del { text-decoration: none; }
pre ins { color: light-dark(#1a7f37, #6fdd8b); }
pre del { color: light-dark(#b42318, #ff9a8d); }
code { font: 14px/1.5 ui-monospace, monospace; }
.comment { color: light-dark(oklch(0.5 0.02 235), oklch(0.65 0.02 230)); }
.keyword { color: light-dark(oklch(0.45 0.12 250), oklch(0.78 0.1 240)); }
.string { color: light-dark(oklch(0.45 0.09 160), oklch(0.8 0.1 160)); }
.number { color: light-dark(oklch(0.5 0.12 50), oklch(0.82 0.1 70)); }
pre.plain { white-space: pre-wrap; font: inherit; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: 4px 10px; border: 1px solid var(--line); text-align: start; }
.center { text-align: center; }
.right { text-align: end; }
blockquote { margin-inline: 0; padding-inline-start: 14px; border-inline-start: 3px solid var(--line); }
a { color: inherit; }
kbd { padding: 1px 5px; border: 1px solid var(--line); border-radius: 4px; font: 14px/1.5 ui-monospace, monospace; }
mark { border-radius: 2px; }
summary { cursor: pointer; }
math[display="block"] { overflow-x: auto; }
.footnotes { border-top: 1px solid var(--line); padding-top: 12px; color: var(--soft); font-size: 13.5px; }
.footnote > p { display: inline; }
.footnote-number { font-weight: inherit; }
details { margin-top: 8px; }
footer { margin-top: 48px; border-top: 1px solid var(--line); padding-top: 12px; }
"""

_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-store",
}


def shared_page(share: ShareLink, messages: Sequence[Message], texts: SharedPageTexts) -> str:
    """Render the page of a link. Takes a while for long chats, so call it in a thread."""
    renderer, room = SharedMarkdown(), MAX_RENDERED
    parts = list[str]()
    for message in messages:
        if message.role == "user" and message.tool_use is None:
            parts.append(f'<h2 class="speaker">{texts.you}</h2>\n{question(message.content)}')
        elif message.role == "assistant":
            text = message.parsed.text
            room -= len(text)
            body = _answer(renderer, text) if room >= 0 else _plain(text)
            parts.append(f'<h2 class="speaker">Ebb</h2>\n<div dir="auto">{body}</div>\n{_below(share, message, texts)}')
    title = html.escape(" ".join((share.title or texts.untitled).split()))
    note = texts.note.format(created=_day(share.created_at), expires=_day(share.expires_at))
    head = f'<header>\n<h1 dir="auto">{title}</h1>\n<p class="note">{note}</p>\n</header>'
    body = f"{head}\n<main>\n{''.join(parts)}\n</main>"
    return _document(title, body, texts)


def gone_page(texts: SharedPageTexts) -> str:
    """Render the page of a link that does not exist."""
    return _notice(texts.gone, texts.why, texts)


def busy_page(texts: SharedPageTexts) -> str:
    """Render the page that asks the reader to come back in a moment."""
    return _notice(texts.busy, texts.later, texts)


def _notice(title: str, text: str, texts: SharedPageTexts) -> str:
    return _document(title, f"<main>\n<h1>{title}</h1>\n<p>{text}</p>\n</main>", texts)


def _document(title: str, body: str, texts: SharedPageTexts) -> str:
    return (
        f'<!doctype html>\n<html lang="{texts.lang}" dir="{texts.direction}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title} · Ebb</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n"
        f"<footer>{texts.foot}</footer>\n</body>\n</html>\n"
    )


def question(content: str) -> str:
    """Return a question, with its files folded as the chat shows them."""
    typed, files = split_files(content)
    folded = "".join(
        f"<details><summary>{html.escape(file.name)}</summary><pre>{html.escape(file.text)}</pre></details>"
        for file in files
    )
    return f'<div class="question" dir="auto">{html.escape(typed)}{folded}</div>\n'


def _answer(renderer: SharedMarkdown, text: str) -> str:
    """Return an answer as its Markdown means, or as it is written once the page has taken its time."""
    try:
        return renderer.render(text)
    except RenderTimeError:
        return _plain(text)


def _plain(text: str) -> str:
    return f'<pre class="plain">{html.escape(text)}</pre>'


def _below(share: ShareLink, message: Message, texts: SharedPageTexts) -> str:
    """Return the lines below an answer."""
    lines = [f'<p class="note">{texts.cut}</p>\n'] if message.status != "complete" else []
    receipt = _receipt(message.usage, texts) if share.shows_receipts else None
    return "".join([*lines, *([f'<p class="receipt">{receipt}</p>\n'] if receipt is not None else [])])


def _receipt(usage: Mapping[str, Any] | None, texts: SharedPageTexts) -> str | None:
    """Return the receipt of an answer in one line; None without one. An import may contain any usage."""
    match usage:
        case {
            "prompt_tokens": int(prompt),
            "prompt_tokens_details": {"cached_tokens": int(cached)},
            "ttft_ms": int() | float() as first,
        }:
            return texts.receipt.format(
                cached=texts.number(cached),
                prompt=texts.number(prompt),
                seconds=texts.number(first / 1000, decimals=2),
            )
        case _:
            return None


def _day(seconds: float) -> str:
    """Return the day in UTC, with hyphens at which no line breaks."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y\u2011%m\u2011%d")
