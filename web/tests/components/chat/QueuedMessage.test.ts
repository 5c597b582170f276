import { flushSync, mount, unmount } from "svelte";
import { expect, it, onTestFinished } from "vitest";

import QueuedMessage from "../../../src/components/chat/QueuedMessage.svelte";

it("says that a stopped answer holds the next message", () => {
  const nothing = () => undefined;
  const actions = { onsend: nothing, onnow: nothing, onedit: nothing, oncancel: nothing };
  const props = { text: "And the moon?", numFiles: 0, first: true, held: true, busy: false, ...actions };
  const shown = mount(QueuedMessage, { target: document.body, props });
  onTestFinished(() => void unmount(shown));
  flushSync();
  expect(document.querySelector("[role=status]")!.textContent).toBe("Not sent yet: the answer was stopped, or it ended while you were away.");
});
