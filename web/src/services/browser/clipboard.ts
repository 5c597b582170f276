/**
 * Copy a text, and the same text with its formatting if there is any. Rejects if the browser does not allow copying. To be
 * called for a click or a key press, and nothing may be awaited before: Safari allows writing only while the click is
 * handled, and takes a promise of what is written.
 */
export async function copy(text: string, html: string | Promise<string> | null): Promise<void> {
  // Pages that are served over plain HTTP have no asynchronous clipboard. A promise comes too late there for Safari alone.
  if (!("clipboard" in navigator)) {
    const formatted = typeof html === "string" ? html : await html;
    return copyByEvent({ "text/plain": text, ...(formatted !== null && { "text/html": formatted }) });
  }
  if (html === null) return navigator.clipboard.writeText(text);
  const forms = {
    "text/plain": new Blob([text], { type: "text/plain" }),
    "text/html": Promise.resolve(html).then((given) => new Blob([given], { type: "text/html" })),
  };
  await navigator.clipboard.write([new ClipboardItem(forms)]);
}

/** Copy through the event of a copy command, which gives the forms in place of the selection. */
function copyByEvent(forms: Record<string, string>): void {
  let given = false;
  const give = (event: ClipboardEvent) => {
    for (const [type, form] of Object.entries(forms)) event.clipboardData?.setData(type, form);
    event.preventDefault();
    given = event.clipboardData !== null;
  };
  const run = () => document.execCommand("copy");
  // Before the handlers of the page, which copy the selection.
  addEventListener("copy", give, { capture: true });
  try {
    const allowed = run() && given;
    // Safari copies only while something is selected.
    if (!allowed && !(withSelection(run) && given)) throw new DOMException("The browser did not copy", "NotAllowedError");
  } finally {
    removeEventListener("copy", give, { capture: true });
  }
}

/** Call `act` while the page is selected, and then select what was selected before. */
function withSelection<Result>(act: () => Result): Result {
  const selection = getSelection()!;
  const before = Array.from({ length: selection.rangeCount }, (_, index) => selection.getRangeAt(index));
  // Behind an open dialog, nothing can be selected.
  selection.selectAllChildren([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body);
  try {
    return act();
  } finally {
    selection.removeAllRanges();
    for (const range of before) selection.addRange(range);
  }
}
