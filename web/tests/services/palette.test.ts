import { expect, it } from "vitest";

import { entriesOf } from "../../src/services/palette";
import { conversation } from "../fake_server";

const opened: unknown[] = [];
const how = { untitled: "New chat", open: (to: unknown) => void opened.push(to), openMessage: (to: unknown) => void opened.push(to) };
const actions = [{ key: "live", label: "Live numbers", act: () => void opened.push("live") }];
const chats = [conversation({ id: "a", title: "Tides and tables" }), conversation({ id: "b", title: null })];

it("begins with recent chats, and finds commands and chats by all words in any order", () => {
  const keys = (query: string) => entriesOf(query, actions, chats, null, how).map(({ kind, key }) => `${kind}:${key}`);
  expect(keys("")).toEqual(["chats:a", "chats:b", "actions:live"]);
  expect(keys("tables TID")).toEqual(["chats:a"]);
  expect(keys("num")).toEqual(["actions:live"]);
  expect(keys("new chat")).toEqual(["chats:b"]);
  expect(keys("nothing")).toEqual([]);
});

it("leads to the chats and messages that the server found", () => {
  const message = { message_id: "m", conversation: chats[0]!, role: "user", snippet: { text: "the tide", matches: [] } } as never;
  const title = { id: "c", title: "Tidal flats", archived: false, updated_at: 1, snippet: { text: "Tidal flats", matches: [] } };
  const searched = { conversations: [{ ...title, id: "a" }, title], messages: [message], next_cursor: null, corrected: null } as never;
  expect(entriesOf("tide", [], chats, searched, how).map(({ key }) => key)).toEqual(["a", "c", "m"]);
  const entry = entriesOf("tide", [], [], searched, how).at(-1);
  expect([entry?.kind, entry?.label, entry?.detail]).toEqual(["messages", "the tide", "Tides and tables"]);
  entry?.act();
  expect(opened.at(-1)).toBe(message);
});
