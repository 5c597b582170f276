import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { PagedList } from "../../src/stores/paged_list.svelte";

const ALL = Array.from({ length: 25 }, (_, number) => `row ${number}`);

/** A list of 25 rows in pages of ten, and the requests that it has received. */
function listOf(all: readonly string[] = ALL) {
  const read = vi.fn((query: string, cursor: string | null, _signal: AbortSignal) => {
    const found = all.filter((row) => row.includes(query));
    const start = cursor === null ? 0 : Number(cursor);
    const next_cursor = start + 10 < found.length ? String(start + 10) : null;
    return Promise.resolve({ data: found.slice(start, start + 10), next_cursor });
  });
  return { list: new PagedList<string>(read), read };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("reads one page at a time", async () => {
  const { list } = listOf();
  await list.load();
  expect([list.rows.length, list.hasMore]).toEqual([10, true]);
  await list.more();
  await list.more();
  expect(list.rows).toEqual(ALL);
  expect(list.hasMore).toBe(false);
});

it("searches once the person pauses, from the first page", async () => {
  const { list, read } = listOf();
  await list.load();
  await list.more();
  list.type("2");
  list.type("24 ");
  await vi.runAllTimersAsync();
  expect(list.rows).toEqual(["row 24"]);
  expect(read.mock.calls.map(([query, cursor]) => [query, cursor])).toEqual([["", null], ["", "10"], ["24", null]]);
});

it("drops an answer that a later request overtakes", async () => {
  const { list, read } = listOf();
  let answer: (page: { data: string[]; next_cursor: null }) => void = () => undefined;
  read.mockImplementationOnce(() => new Promise((resolve) => (answer = resolve)));
  const first = list.load();
  list.type("24");
  await vi.runAllTimersAsync();
  answer({ data: ["too late"], next_cursor: null });
  await first;
  expect(list.rows).toEqual(["row 24"]);
});

it("keeps its rows when a page cannot be read", async () => {
  const { list, read } = listOf();
  await list.load();
  const refused = new Error("refused");
  read.mockImplementationOnce(() => Promise.reject(refused));
  await list.more();
  expect([list.failure, list.rows.length]).toEqual([refused, 10]);
  await list.more();
  expect([list.failure, list.rows.length]).toEqual([null, 20]);
});

it("shows created and changed rows at once", async () => {
  const { list } = listOf(["a", "b"]);
  await list.load();
  list.prepend("c");
  list.replace("a", "A");
  expect(list.rows).toEqual(["c", "A", "b"]);
});

it("reads a page once, however often its end comes near, and nothing beyond the last", async () => {
  const { list, read } = listOf();
  await list.load();
  await Promise.all([list.more(), list.more(), list.more()]);
  expect(list.rows).toHaveLength(20);
  await list.more();
  await list.more();
  expect(read).toHaveBeenCalledTimes(3);
  expect(list.rows).toEqual(ALL);
});

it("counts all rows as the server does, without those that are gone", async () => {
  const { list, read } = listOf();
  read.mockResolvedValueOnce({ data: ["a", "b"], next_cursor: "10", total: 25 } as never);
  await list.load();
  list.drop((row) => row === "a");
  expect([list.rows, list.total]).toEqual([["b"], 24]);
  await list.more();
  expect(list.total).toBe(24);
});
