import { expect, it, vi } from "vitest";

import SearchResults from "../../../src/components/sidebar/SearchResults.svelte";
import { Hit } from "../../../src/stores/hit.svelte";
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

it("opens a message with the words that were found in it", () => {
  const snippet = { text: "High tide, low tide", matches: [[5, 9], [15, 19]] };
  const message = { message_id: "msg_1", role: "user", created_at: 1, conversation: { id: "conv_2", title: "Sea", archived: false }, snippet };
  const search = { problem: null, found: { conversations: [], messages: [message], corrected: null }, filters: {}, query: "tide" };
  const [hit, onopen] = [new Hit(), vi.fn()];
  mountWith({ hit, search, organizer: { tree: { labels: [] }, tags: [] } } as never, SearchResults as never, { onopen });
  document.querySelector<HTMLElement>("li a")!.click();
  expect(onopen).toHaveBeenCalledWith("conv_2", "msg_1");
  expect(hit.current).toEqual({ conversationId: "conv_2", messageId: "msg_1", words: ["tide", "tide"] });
});
