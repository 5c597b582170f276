import { createContext, onDestroy } from "svelte";

import { useEbb } from "../../ebb";
import { FrameQueue } from "../../services/scrolling/frame_queue";
import { ProximityObserver } from "../../services/scrolling/proximity_observer";
import { ProgressiveRender } from "../../stores/progressive_render.svelte";

/** What far parts of the scrolling page are spared. */
export interface Scrolling {
  /** Beyond it nothing is laid out or painted, but the browser still finds it. */
  painted: ProximityObserver;
  /** Beyond it nothing is in the document but room of the same height. */
  kept: ProximityObserver;
  /** To bring back what was taken out. */
  turns: FrameQueue;
}

const PAINTED_PX = 1_200;
const KEPT_PX = 8_000;

export function createScrolling(): Scrolling {
  return { painted: new ProximityObserver(PAINTED_PX), kept: new ProximityObserver(KEPT_PX), turns: new FrameQueue() };
}

/** Of the scrolling page that a component stands in. */
export const [useScrolling, provideScrolling] = createContext<Scrolling>();

/** Draws `count` things of a component one after the other, `step` in each frame, as long as the component is there. */
export function useProgressiveRender(count: number, step: number): ProgressiveRender {
  const filling = new ProgressiveRender(count, step, useEbb().printing);
  onDestroy(() => filling.end());
  return filling;
}
