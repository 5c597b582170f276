import { expect, it } from "vitest";

import { fitted, moved, pinched, zoomed, type Pair, type Place } from "../../../src/services/scrolling/pan_zoom";

/** The point of the drawing that is seen at a point of the frame. */
const under = ({ x, y, scale }: Place, [px, py]: Pair) => [(px - x) / scale, (py - y) / scale];

it("shows all of a drawing in the middle, and enlarges no small one", () => {
  expect(fitted([400, 100], [200, 200])).toEqual({ x: 0, y: 75, scale: 0.5 });
  expect(fitted([100, 50], [200, 200])).toEqual({ x: 50, y: 75, scale: 1 });
});

it("keeps the point of the drawing under the pointer while it zooms, within bounds", () => {
  const place = moved(fitted([400, 100], [200, 200]), [10, -5]);
  const near = zoomed(place, 3, [40, 90]);
  expect([near.scale, under(near, [40, 90])]).toEqual([1.5, under(place, [40, 90])]);
  expect(zoomed(place, 1_000, [0, 0]).scale).toBe(8);
  expect(zoomed(place, 0, [0, 0]).scale).toBe(0.1);
});

it("keeps the points of the drawing under two fingers", () => {
  const place: Place = { x: 7, y: 9, scale: 1 };
  const [before, after]: [Pair, Pair][] = [[[10, 10], [50, 10]], [[30, 40], [110, 40]]];
  const next = pinched(place, before!, after!);
  expect(next.scale).toBe(2);
  for (const finger of [0, 1] as const) expect(under(next, after![finger])).toEqual(under(place, before![finger]));
});
