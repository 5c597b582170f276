import { describe, expect, it } from "vitest";

import type { Outline } from "../../../src/services/api/types";
import { plain, rowAfter, rowsOf } from "../../../src/services/chat/tree";

function outline(...edges: [id: string, parent: string | null][]): Outline[] {
  return edges.map(([id, parent_id], created_at) => {
    const role = id.startsWith("a") ? "assistant" : "user";
    return { id, parent_id, role, status: "complete", preview: id, created_at };
  });
}

it("strips Markdown marks, and keeps what only looks like one", () => {
  expect(plain("# Tides The **Moon** pulls `x_1` ## How")).toBe("Tides The Moon pulls x_1 How");
  expect(plain("a > b is C# and 2*3*4")).toBe("a > b is C# and 2*3*4");
  expect(plain(`When? <file name="c.csv"> name,qty </file>`)).toBe("When? c.csv: name,qty");
});

describe("the tree of a conversation", () => {
  const messages = outline(["q1", null], ["a1", "q1"], ["q2", "a1"], ["a2", "q1"], ["q3", "a2"], ["q4", "a2"]);
  const rows = rowsOf({ head_id: "q3", messages });

  it("is depth-first, deeper only at branchings, with the shown path marked", () => {
    expect(rows.map(({ message, level, shown }) => `${message.id} ${level}${shown ? " shown" : ""}`)).toEqual([
      "q1 1 shown",
      "a1 2",
      "q2 2",
      "a2 2 shown",
      "q3 3 shown",
      "q4 3",
    ]);
  });

  it("moves with the arrow keys", () => {
    const walk = (key: string, from: number) => rowAfter(key, from, rows);
    expect([walk("ArrowDown", 5), walk("ArrowUp", 0), walk("Home", 3), walk("End", 3)]).toEqual([5, 0, 0, 5]);
    expect([walk("ArrowLeft", 5), walk("ArrowLeft", 2), walk("ArrowLeft", 0)]).toEqual([3, 0, 0]);
    expect([walk("ArrowRight", 0), walk("ArrowRight", 2), walk("ArrowRight", 3)]).toEqual([1, 2, 4]);
    expect(walk("x", 0)).toBeUndefined();
  });

  it("may have several roots and the depth of a long chat", () => {
    const two = rowsOf({ head_id: null, messages: outline(["q1", null], ["q2", null]) });
    expect(two.map(({ level }) => level)).toEqual([1, 1]);
    const long = Array.from({ length: 20_000 }, (_, n): [string, string | null] => [`q${n}`, n === 0 ? null : `q${n - 1}`]);
    expect(rowsOf({ head_id: "q19999", messages: outline(...long) }).every(({ level, shown }) => level === 1 && shown)).toBe(true);
  });
});
