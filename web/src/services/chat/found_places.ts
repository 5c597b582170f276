/** Marks of the places where a text was found in the messages that are drawn, and the way to one of them. */

/** Pause after a change of the drawn messages, before the marks follow, in ms. */
const REST_MS = 100;
/** Frames in which a message may draw the text that was found: a long one takes several. */
const MOST_FRAMES = 60;
const [ALL, CURRENT] = ["found", "found-current"] as const;

/** Return the scrolling part of the page. */
export function scrollerOf(): HTMLElement {
  return document.querySelector<HTMLElement>("[data-scroller]")!;
}

/** Return a message that is drawn. */
export function drawnMessage(id: string): Element | null {
  return scrollerOf().querySelector(`[data-message="${CSS.escape(id)}"]`);
}

/** Mark places, and the current one among them. */
export function markPlaces(places: readonly Range[], current: Range | undefined): void {
  if (!("highlights" in CSS)) return;
  CSS.highlights.set(ALL, new Highlight(...places));
  CSS.highlights.set(CURRENT, new Highlight(...(current === undefined ? [] : [current])));
}

/** Call `mark` after each change of the drawn messages. Return the function that stops this and removes the marks. */
export function keepMarked(mark: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const observer = new MutationObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(mark, REST_MS);
  });
  observer.observe(scrollerOf(), { childList: true, characterData: true, subtree: true });
  return () => {
    observer.disconnect();
    clearTimeout(timer);
    if ("highlights" in CSS) for (const name of [ALL, CURRENT]) CSS.highlights.delete(name);
  };
}

/** A place of a message that may still be being drawn. */
interface Sought {
  /** Return the place; undefined if it is not drawn yet. late: the message had its time, and another place is better than none. */
  find: (late: boolean) => Range | undefined;
  /** Whether the person still wants to go there. */
  wanted: () => boolean;
}

/** Scroll to a place once it is drawn, and unfold what hides it. */
export async function goToPlace({ find, wanted }: Sought): Promise<void> {
  let place = find(false);
  for (let frame = 0; frame < MOST_FRAMES && place === undefined && wanted(); frame++) {
    await new Promise(requestAnimationFrame);
    place = find(frame === MOST_FRAMES - 1);
  }
  if (place === undefined || !wanted()) return;
  const parent = place.startContainer.parentElement!;
  const folded = parent.closest("details");
  if (folded !== null) folded.open = true;
  parent.closest("[data-folded]")?.parentElement?.querySelector<HTMLButtonElement>("button[aria-expanded=false]")?.click();
  await new Promise(requestAnimationFrame);
  if (!wanted()) return;
  const scroller = scrollerOf();
  const box = place.getBoundingClientRect();
  const screen = scroller.getBoundingClientRect();
  if (box.top < screen.top || box.bottom > screen.bottom) scroller.scrollTop += box.top - screen.top - screen.height / 3;
}
