"""Parser of answers: CommonMark with tables, struck text, formulas, footnotes, tasks, addresses, and some HTML.

The page draws chats by the same rules, and one file of cases tests both.
"""

from markdown_it import MarkdownIt

from app.conversations.markdown.addresses import read_addresses
from app.conversations.markdown.depth import limit_depth
from app.conversations.markdown.elements import read_elements
from app.conversations.markdown.fences import read_fences
from app.conversations.markdown.flanking import FlankingParser
from app.conversations.markdown.folding import read_folded_parts
from app.conversations.markdown.formulas import read_formulas
from app.conversations.markdown.notes import read_notes
from app.conversations.markdown.tables import keep_cells
from app.conversations.markdown.tasks import read_tasks


def new_parser() -> MarkdownIt:
    """Return a parser whose renderer still needs the rules for formulas, images and links."""
    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.inline = FlankingParser()
    parser.enable(["table", "strikethrough"])
    keep_cells(parser)
    read_formulas(parser)
    read_fences(parser)
    read_elements(parser)
    read_folded_parts(parser)
    read_notes(parser)
    read_tasks(parser)
    read_addresses(parser)
    limit_depth(parser)
    return parser
