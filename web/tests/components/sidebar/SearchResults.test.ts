import { expect, it } from "vitest";

import SearchResults from "../../../src/components/sidebar/SearchResults.svelte";
import { mountWith } from "../mounting";

it("says when each result was written, and which chats are archived", () => {
  const snippet = { text: "Tides", matches: [] };
  const at = new Date(2024, 4, 3, 12, 0).getTime() / 1000;
  const found = {
    conversations: [{ id: "conv_1", title: "Tides", archived: false, updated_at: at, snippet }],
    messages: [{ message_id: "msg_1", role: "user", created_at: at, conversation: { id: "conv_2", title: "Sea", archived: true }, snippet }],
    corrected: null,
  };
  const search = { problem: null, found, filters: {}, query: "tides" };
  mountWith({ search, organizer: { tree: { labels: [] }, tags: [] } } as never, SearchResults as never, { onopen: () => undefined });
  const [title, message] = [...document.querySelectorAll("li")];
  expect(title!.textContent).toContain("May 3, 2024");
  expect(title!.querySelector("[aria-label='Archived chats']")).toBeNull();
  expect(message!.textContent).toContain("May 3, 2024");
  expect(message!.querySelector("[aria-label='Archived chats']")).not.toBeNull();
});
