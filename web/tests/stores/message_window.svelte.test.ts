import { describe, expect, it } from "vitest";

import { MessageWindow } from "../../src/stores/message_window.svelte";

const SCREEN = { now: false };

describe("the window of mounted messages", () => {
  const messagesOf = (count: number, content = "", place = 0) =>
    Array.from({ length: count }, (_, index) => ({ content, key: `m${place + index}`, place: place + index }));
  const chat = (count: number, content = "") => {
    const messages = $state(messagesOf(count, content));
    const pages = $state<{ gap: number; around: string | null }>({ gap: count, around: null });
    return { messages, pages };
  };
  const bounds = (shown: MessageWindow<{ content: string; key: string; place: number }>) =>
    shown.sections.map(({ number, messages }) => [number, messages[0]!.key, messages.at(-1)!.key]);

  it("holds all of a short chat", () => {
    expect(new MessageWindow(chat(20), SCREEN).from).toBe(0);
  });

  it("holds the end, grows by a message, and extends to a given one", () => {
    const shown = new MessageWindow(chat(2_000), SCREEN);
    expect([shown.from, shown.to]).toEqual([1_980, 2_000]);
    shown.reveal();
    expect(shown.from).toBe(1_979);
    shown.revealTo(1_001);
    expect(shown.from).toBe(1_001);
    shown.revealTo(1_500);
    expect(shown.from).toBe(1_001);
    shown.reset();
    expect(shown.from).toBe(1_980);
  });

  it("has sections of 32 places, whose bounds never move", () => {
    const open = chat(70);
    const shown = new MessageWindow(open, SCREEN);
    shown.revealTo(29);
    expect(bounds(shown)).toEqual([[0, "m29", "m31"], [1, "m32", "m63"], [2, "m64", "m69"]]);
    shown.reveal();
    open.messages.push(...messagesOf(2, "", 70));
    expect(bounds(shown)).toEqual([[0, "m30", "m31"], [1, "m32", "m63"], [2, "m64", "m71"]]);
    open.messages.unshift(...messagesOf(3, "", -3));
    shown.reveal();
    expect(bounds(shown)).toEqual([[0, "m29", "m31"], [1, "m32", "m63"], [2, "m64", "m71"]]);
  });

  it("starts smaller with long messages, and never shrinks", () => {
    const open = chat(40, "long ".repeat(75));
    const { messages } = open;
    const shown = new MessageWindow(open, SCREEN);
    expect(shown.from).toBe(36);
    expect(bounds(shown)).toEqual([[1, "m36", "m39"]]);
    shown.revealTo(0);
    expect(shown.from).toBe(0);
    shown.reset();
    expect(shown.from).toBe(36);
    messages[39]!.content += "longer ".repeat(1_000);
    expect(shown.from).toBe(36);
    messages.push(...messagesOf(2, "", 40));
    expect(shown.from).toBe(38);
  });

  it("holds the surroundings of a message in the middle, up to the gap, and grows both ways", () => {
    const open = chat(80);
    open.pages.gap = 40;
    const shown = new MessageWindow(open, SCREEN);
    open.pages.around = "m20";
    expect([shown.from, shown.to]).toEqual([16, 25]);
    shown.reveal();
    shown.revealLater();
    shown.revealLater();
    expect([shown.from, shown.to]).toEqual([15, 27]);
    open.pages.around = "m38";
    expect([shown.from, shown.to]).toEqual([34, 40]);
    open.pages.around = null;
    open.messages.splice(0, 40);
    expect([shown.from, shown.to]).toEqual([20, 40]);
  });

  it("holds everything while printing", () => {
    const paper = $state({ now: false });
    const shown = new MessageWindow(chat(2_000), paper);
    paper.now = true;
    expect(shown.from).toBe(0);
    paper.now = false;
    expect(shown.from).toBe(1_980);
  });

  it("holds the first messages of an empty chat", () => {
    const open = chat(0);
    const shown = new MessageWindow(open, SCREEN);
    expect(shown.sections).toEqual([]);
    open.messages.push(...messagesOf(6, "long ".repeat(1_000)));
    expect(shown.from).toBe(4);
  });
});
