import type { ConversationTree, Outline } from "../api/types";

/** A line of the drawn tree. */
export interface TreeRow {
  message: Outline;
  /** From 1: one more than the branchings above it, so that what follows without an alternative stands below. */
  level: number;
  /** It is on the path that the conversation shows. */
  shown: boolean;
}

/** The tree from top to bottom, each branch to its end before the next one begins. */
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

/** The beginning of a message without the marks that only mean something when they are set. */
export function plain(markdown: string): string {
  return markdown.replace(/(^|\s)#{1,6}\s+/g, "$1").replace(/\*\*|~~|`+/g, "").trim();
}

function pathTo(head: string | null, messages: readonly Outline[]): Set<string> {
  const parents = new Map(messages.map(({ id, parent_id }) => [id, parent_id]));
  const path = new Set<string>();
  for (let id = head; id !== null; id = parents.get(id) ?? null) path.add(id);
  return path;
}

/** Where a key leads from row `at`; undefined for a key that leads nowhere. */
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
    case "ArrowLeft": // to where this branch begins from
      return Math.max(rows.findLastIndex((row, index) => index < at && row.level < level), 0);
    case "ArrowRight":
      return firstBelow(at, rows);
    default:
      return undefined;
  }
}

/** The first branch of where row `at` leads to; `at` itself if there is none. */
function firstBelow(at: number, rows: readonly TreeRow[]): number {
  let last = at;
  for (let next = at + 1; rows[next]?.message.parent_id === rows[last]!.message.id; next++) {
    if (rows[next]!.level > rows[at]!.level) return next;
    last = next;
  }
  return at;
}
