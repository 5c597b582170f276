import { expect, it, onTestFinished, vi } from "vitest";

import { copy } from "../../../src/services/browser/clipboard";

/** Give the document a copy command as in Safari, which needs a selection. Return the forms that it copied. */
function safari(allowed = true): Map<string, string> {
  const copied = new Map<string, string>();
  const clipboardData = { setData: (type: string, form: string) => copied.set(type, form) };
  const execCommand = () => {
    if (!allowed || getSelection()!.isCollapsed) return false;
    return !document.body.dispatchEvent(Object.assign(new Event("copy", { bubbles: true, cancelable: true }), { clipboardData }));
  };
  Object.assign(document, { execCommand });
  document.body.innerHTML = "<p>Low tide</p>";
  getSelection()!.removeAllRanges();
  onTestFinished(() => {
    Reflect.deleteProperty(document, "execCommand");
    document.body.innerHTML = "";
  });
  return copied;
}

it("copies both forms over plain HTTP, and keeps the selection", async () => {
  const copied = safari();
  await copy("**Ebb**", "<b>Ebb</b>");
  expect(Object.fromEntries(copied)).toEqual({ "text/plain": "**Ebb**", "text/html": "<b>Ebb</b>" });
  expect(getSelection()!.rangeCount).toBe(0);

  getSelection()!.selectAllChildren(document.querySelector("p")!);
  await copy("Flood", null);
  expect(copied.get("text/plain")).toBe("Flood");
  expect(getSelection()!.toString()).toBe("Low tide");
});

it("rejects if the browser does not copy", async () => {
  safari(false);
  await expect(copy("Ebb", null)).rejects.toThrow();
});

it("writes while the click is handled, with a promise of what is not here yet", async () => {
  const write = vi.fn((_items: unknown[]) => Promise.resolve());
  vi.stubGlobal("ClipboardItem", class { constructor(readonly forms: Record<string, unknown>) {} });
  Object.assign(navigator, { clipboard: { write } });
  onTestFinished(() => void Reflect.deleteProperty(navigator, "clipboard"));
  const html = Promise.withResolvers<string>();
  const copied = copy("**Ebb**", html.promise);
  expect(write, "Safari refuses what comes after the click").toHaveBeenCalledOnce();
  html.resolve("<b>Ebb</b>");
  await copied;
  const [[item]] = write.mock.calls[0] as unknown as [[{ forms: Record<string, Blob | Promise<Blob>> }]];
  expect((await item.forms["text/html"])!.type).toBe("text/html");
});
