import { createContext, onDestroy, untrack } from "svelte";

import { useEbb } from "../../ebb";
import { FrameQueue } from "../../services/scrolling/frame_queue";
import { ProximityObserver } from "../../services/scrolling/proximity_observer";
import { ParseSteps } from "../../stores/parse_steps.svelte";
import { ProgressiveRender } from "../../stores/progressive_render.svelte";

/** Savings on the parts of the scrolling page that are far from the screen. */
export interface Scrolling {
  /** Beyond this distance nothing is laid out or painted, but the browser still finds it. */
  painted: ProximityObserver;
  /** Beyond this distance messages are unmounted, and an empty box of the same height takes their place. */
  mounted: ProximityObserver;
  /** Mounts unmounted messages again, one per frame. */
  frames: FrameQueue;
}

const PAINTED_PX = 1_200;
const MOUNTED_PX = 3_000;

export function createScrolling(): Scrolling {
  return { painted: new ProximityObserver(PAINTED_PX), mounted: new ProximityObserver(MOUNTED_PX), frames: new FrameQueue() };
}

/** Context of the scrolling page around a component. */
export const [useScrolling, provideScrolling] = createContext<Scrolling>();

/**
 * Render the elements of a component progressively, `step` per frame, for as long as the component is mounted. count: returns
 * their number, which may grow.
 */
export function useProgressiveRender(count: () => number, step: number): ProgressiveRender {
  const render = new ProgressiveRender(count(), step, useEbb().printing);
  $effect.pre(() => render.grow(count()));
  onDestroy(() => render.end());
  return render;
}

/** Parse a text of a component in steps, if it is long when the component is mounted. parse: parses the text up to a place. */
export function useParseSteps(text: () => string, parse: (start: string) => void): ParseSteps {
  const { printing } = useEbb();
  const steps = new ParseSteps(() => untrack(text).length, (letters) => parse(untrack(text).slice(0, letters)), printing);
  onDestroy(() => steps.end());
  return steps;
}
