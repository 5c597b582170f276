import type { ConversationTree, Outline } from "../api/types";
import { inPlainWords } from "./attachments";

/** Row of the drawn tree. */
export interface TreeRow {
  message: Outline;
  /** Depth, from 1: one more than the number of branchings above. A message without siblings is below its parent. */
  level: number;
  /** Whether the message is on the shown path. */
  shown: boolean;
}

/** Return the tree's rows in depth-first order. */
export function rowsOf({ head_id, messages }: Pick<ConversationTree, "head_id" | "messages">): TreeRow[] {
  const shown = pathTo(head_id, messages);
  const following = Map.groupBy(messages, ({ parent_id }) => parent_id);
  const rows: TreeRow[] = [];
  const waiting: { message: Outline; level: number }[] = [];
  const wait = (parent: string | null, level: number) => {
    const children = following.get(parent) ?? [];
    waiting.push(...children.toReversed().map((message) => ({ message, level: level + (children.length > 1 ? 1 : 0) })));
  };
  wait(null, (following.get(null)?.length ?? 0) > 1 ? 0 : 1);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { message, level } = next;
    if (message.role !== "system") rows.push({ message, level, shown: shown.has(message.id) });
    wait(message.id, level);
  }
  return rows;
}

/** Strip the marks of Markdown and of files from the beginning of a message. */
export function plain(markdown: string): string {
  return inPlainWords(markdown).replace(/(^|\s)#{1,6}\s+/g, "$1").replace(/\*\*|~~|`+/g, "").trim();
}

function pathTo(head: string | null, messages: readonly Outline[]): Set<string> {
  const parents = new Map(messages.map(({ id, parent_id }) => [id, parent_id]));
  const path = new Set<string>();
  for (let id = head; id !== null; id = parents.get(id) ?? null) path.add(id);
  return path;
}

/** Return the row that a key leads to from row `at`; undefined for other keys. */
export function rowAfter(key: string, at: number, rows: readonly TreeRow[]): number | undefined {
  const level = rows[at]!.level;
  switch (key) {
    case "ArrowDown":
      return Math.min(at + 1, rows.length - 1);
    case "ArrowUp":
      return Math.max(at - 1, 0);
    case "Home":
      return 0;
    case "End":
      return rows.length - 1;
    case "ArrowLeft": // to the message from which this branch starts
      return Math.max(rows.findLastIndex((row, index) => index < at && row.level < level), 0);
    case "ArrowRight":
      return firstBelow(at, rows);
    default:
      return undefined;
  }
}

/** Return the first row of a branch below row `at`; `at` itself without one. */
function firstBelow(at: number, rows: readonly TreeRow[]): number {
  let last = at;
  for (let next = at + 1; rows[next]?.message.parent_id === rows[last]!.message.id; next++) {
    if (rows[next]!.level > rows[at]!.level) return next;
    last = next;
  }
  return at;
}
