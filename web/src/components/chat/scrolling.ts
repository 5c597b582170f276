import { createContext, onDestroy } from "svelte";

import { useEbb } from "../../ebb";
import { Distance } from "../../services/scrolling/distance";
import { Turns } from "../../services/scrolling/turns";
import { Filling } from "../../stores/filling.svelte";

/** What far parts of the scrolling page are spared. */
export interface Scrolling {
  /** Beyond it nothing is laid out or painted, but the browser still finds it. */
  painted: Distance;
  /** Beyond it nothing is in the document but room of the same height. */
  kept: Distance;
  /** To bring back what was taken out. */
  turns: Turns;
}

const PAINTED_PX = 1_200;
const KEPT_PX = 8_000;

export function createScrolling(): Scrolling {
  return { painted: new Distance(PAINTED_PX), kept: new Distance(KEPT_PX), turns: new Turns() };
}

/** Of the scrolling page that a component stands in. */
export const [useScrolling, provideScrolling] = createContext<Scrolling>();

/** Draws `count` things of a component one after the other, `step` in each frame, as long as the component is there. */
export function useFilling(count: number, step: number): Filling {
  const filling = new Filling(count, step, useEbb().printing);
  onDestroy(() => filling.end());
  return filling;
}
