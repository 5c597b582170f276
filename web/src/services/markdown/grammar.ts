import MarkdownIt from "markdown-it";

import { readAddresses } from "./addresses";
import { resume } from "./checkpoints";
import { limitDepth } from "./depth";
import { readElements } from "./elements";
import { readFences } from "./fences";
import { readFormulas } from "./formulas";
import { readNotes } from "./note_rules";
import { readQuickly } from "./states";
import { keepCells } from "./table_rows";

/**
 * The grammar of answers: CommonMark with tables, struck text, formulas, footnotes, addresses, and some HTML. The server reads
 * shared chats by the same rules (`app/conversations/markdown`), and one file of cases tests both.
 */
export function newParser() {
  const md = new MarkdownIt("commonmark", { maxNesting: 100, xhtmlOut: false });
  md.enable(["table", "strikethrough"]);
  readQuickly(md);
  keepCells(md);
  readFormulas(md);
  readFences(md);
  readElements(md);
  readNotes(md);
  readAddresses(md);
  limitDepth(md);
  resume(md);
  return md;
}
