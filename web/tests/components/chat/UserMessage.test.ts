import { expect, it } from "vitest";

import UserMessage from "../../../src/components/chat/UserMessage.svelte";
import { Notices } from "../../../src/stores/notices.svelte";
import { message } from "../../fake_server";
import { mountWith } from "../mounting";

it("shows the actions of a question as icons with tooltips", () => {
  const nothing = () => undefined;
  const asked = { ...message({ role: "user", content: "When?" }), key: "msg_1", sibling_ids: ["msg_1"], unsent: null };
  const handlers = { onresend: nothing, onreclaim: nothing, onedit: nothing, onanswer: nothing, onmore: nothing };
  mountWith({ notices: new Notices() }, UserMessage as never, { message: asked, busy: false, last: false, menu: "menu", ...handlers });
  const buttons = [...document.querySelectorAll("button")].map((each) => [each.textContent.trim(), each.title, each.ariaLabel]);
  expect(buttons).toEqual(["Edit question", "Copy question", "More about this question"].map((name) => ["", name, name]));
});
