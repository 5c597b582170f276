import { expect, it } from "vitest";

import { entriesOf } from "../../src/services/palette";
import { conversation } from "../fake_server";

const opened: unknown[] = [];
const how = { untitled: "New chat", open: (...to: unknown[]) => void opened.push(to) };
const actions = [{ key: "live", label: "Live numbers", act: () => void opened.push("live") }];
const chats = [conversation({ id: "a", title: "Tides and tables" }), conversation({ id: "b", title: null })];

it("begins with recent chats, and finds commands and chats by all words in any order", () => {
  const keys = (query: string) => entriesOf(query, actions, chats, [], how).map(({ kind, key }) => `${kind}:${key}`);
  expect(keys("")).toEqual(["chats:a", "chats:b", "actions:live"]);
  expect(keys("tables TID")).toEqual(["chats:a"]);
  expect(keys("num")).toEqual(["actions:live"]);
  expect(keys("new chat")).toEqual(["chats:b"]);
  expect(keys("nothing")).toEqual([]);
});

it("leads to the messages that the server found", () => {
  const message = { message_id: "m", conversation: chats[0]!, role: "user", snippet: { text: "the tide", matches: [] } } as never;
  const [entry] = entriesOf("tide", [], [], [message], how);
  expect([entry?.kind, entry?.label, entry?.detail]).toEqual(["messages", "the tide", "Tides and tables"]);
  entry?.act();
  expect(opened.at(-1)).toEqual(["a", "m"]);
});
