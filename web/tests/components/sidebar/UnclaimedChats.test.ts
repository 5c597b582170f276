import { expect, it, vi } from "vitest";

import UnclaimedChats from "../../../src/components/sidebar/UnclaimedChats.svelte";
import { mountWith } from "../mounting";

it.each([true, false])("says in an empty list whether earlier chats belong to no key: %s", async (unclaimed) => {
  const hasUnclaimedChats = vi.fn(() => Promise.resolve(unclaimed));
  mountWith({ api: { hasUnclaimedChats } as never }, UnclaimedChats as never, {});
  await vi.waitFor(() => expect(hasUnclaimedChats).toHaveBeenCalledOnce());
  await new Promise((resolve) => setTimeout(resolve));
  expect(document.querySelector("[role=status]")?.textContent ?? "").toMatch(unclaimed ? /administrator/ : /^$/);
});
