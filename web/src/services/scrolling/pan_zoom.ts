/** A size, or a point, in px. */
export type Pair = readonly [number, number];

/** Place of a drawing in its frame: the position of its top left corner, and its scale. */
export interface Place {
  x: number;
  y: number;
  scale: number;
}

const MIN_SCALE = 0.1;
const MAX_SCALE = 8;

/** Return the place in the middle of the frame, in which all of the drawing is seen. Small drawings are not enlarged. */
export function fitted([width, height]: Pair, [frameWidth, frameHeight]: Pair): Place {
  const scale = Math.min(1, frameWidth / width, frameHeight / height);
  return { x: (frameWidth - width * scale) / 2, y: (frameHeight - height * scale) / 2, scale };
}

export function moved({ x, y, scale }: Place, [dx, dy]: Pair): Place {
  return { x: x + dx, y: y + dy, scale };
}

/** Scale a drawing around a point of the frame, which stays where it is. */
export function zoomed({ x, y, scale }: Place, factor: number, [px, py]: Pair): Place {
  const next = Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale * factor));
  return { x: px - ((px - x) * next) / scale, y: py - ((py - y) * next) / scale, scale: next };
}

/** Follow two fingers: the points under them stay there. */
export function pinched(place: Place, before: readonly [Pair, Pair], after: readonly [Pair, Pair]): Place {
  const [from, to] = [middle(before), middle(after)];
  const factor = distance(after) / Math.max(1, distance(before));
  return moved(zoomed(place, factor, from), [to[0] - from[0], to[1] - from[1]]);
}

function middle([[ax, ay], [bx, by]]: readonly [Pair, Pair]): Pair {
  return [(ax + bx) / 2, (ay + by) / 2];
}

function distance([[ax, ay], [bx, by]]: readonly [Pair, Pair]): number {
  return Math.hypot(ax - bx, ay - by);
}
