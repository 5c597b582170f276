import { flushSync, mount, unmount, type Component } from "svelte";
import { onTestFinished } from "vitest";

import type { Ebb } from "../../src/ebb";
import { Shortcuts } from "../../src/stores/shortcuts.svelte";
import WithEbb from "./WithEbb.svelte";

// jsdom has no modal dialogs.
Object.assign(HTMLDialogElement.prototype, {
  showModal(this: HTMLDialogElement) {
    this.open = true;
  },
  close(this: HTMLDialogElement) {
    this.open = false;
    this.dispatchEvent(new Event("close"));
  },
});

const ONLY_MODEL = { names: [], name: null, facts: null, list: [] } as unknown as Ebb["models"];

/** Mount a component with the stores that it reaches, until the test ends. */
export function mountWith<Props extends Record<string, unknown>>(ebb: Partial<Ebb>, Shown: Component<Props>, props: Props): void {
  const shown = mount(WithEbb, { target: document.body, props: { ebb: { shortcuts: new Shortcuts(), models: ONLY_MODEL, ...ebb } as Ebb, Shown: Shown as Component<Record<string, unknown>>, props } });
  onTestFinished(() => void unmount(shown));
  flushSync();
}

/** Press the button with this text or label. */
export function press(name: string): void {
  const button = [...document.querySelectorAll("button")].find((each) => [each.textContent.trim(), each.getAttribute("aria-label")].includes(name));
  if (button === undefined) throw new Error(`There is no button ${name}`);
  button.click();
  flushSync();
}
