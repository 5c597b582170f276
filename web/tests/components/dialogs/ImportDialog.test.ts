import { expect, it, vi } from "vitest";

import ImportDialog from "../../../src/components/dialogs/ImportDialog.svelte";
import { Notices } from "../../../src/stores/notices.svelte";
import type { PreviewedConversation } from "../../../src/services/api/types";
import { FakeApi } from "../../fake_server";
import { mountWith, press } from "../mounting";

const previewed = (index: number, archived: boolean): PreviewedConversation => ({
  index,
  title: "Tides",
  updated_at: new Date(2024, 4, 3, 12, 0).getTime() / 1000,
  archived,
  num_messages: 2,
  num_branches: 1,
  left_out: [],
  is_here: false,
});

it("shows when a chat was last written in, and says which ones are in the archive", async () => {
  const api = new FakeApi();
  const notices = new Notices();
  api.previewImport = () => Promise.resolve({ format: "chatgpt", conversations: [previewed(0, false), previewed(1, true)], unreadable: [] });
  const importFile = () => Promise.resolve({ imported: ["conv_1", "conv_2"], skipped: [], unreadable: [] });
  mountWith({ api, notices, conversations: { importFile } } as never, ImportDialog, { onclose: () => undefined });
  const field = document.querySelector<HTMLInputElement>("input[type=file]")!;
  Object.defineProperty(field, "files", { value: [new File(["[]"], "conversations.json")] });
  field.dispatchEvent(new Event("change", { bubbles: true }));
  await vi.waitFor(() => expect(document.querySelector("li .note")?.textContent).toContain("2024"));
  press("Import 2 chats");
  await vi.waitFor(() => expect(notices.current).toBe("2 chats were imported. Archived chats: 1"));
  notices.dismiss();
});
