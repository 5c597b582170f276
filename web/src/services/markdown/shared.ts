/** Parts that were found equal to others, by those that were compared to them. A part that is kept is compared once. */
const equals = new WeakMap<object, object>();

/** Return `next`, with the parts of `before` that equal its own in their place. Both are plain objects, lists and values. */
export function shared<T>(before: unknown, next: T): T {
  if (before === next || !isParts(before) || !isParts(next)) return next;
  if (equals.get(next) === before) return before as T;
  const result = (Array.isArray(next) ? sharedList(before, next) : sharedParts(before, next)) as T;
  if (result === before) equals.set(next, before);
  return result;
}

function sharedParts(before: Parts, next: Parts): Parts {
  const keys = Object.keys(next);
  let isSame = !Array.isArray(before) && keys.length === Object.keys(before).length;
  const parts: Parts = {};
  for (const key of keys) {
    parts[key] = shared(before[key], next[key]);
    isSame &&= parts[key] === before[key];
  }
  return isSame ? before : parts;
}

function sharedList(before: Parts, next: readonly unknown[]): unknown {
  if (!Array.isArray(before)) return next;
  const list = next.map((part, index) => shared(before[index], part));
  return list.length === before.length && list.every((part, index) => part === before[index]) ? before : list;
}

type Parts = Record<string, unknown>;

function isParts(value: unknown): value is Parts {
  return typeof value === "object" && value !== null;
}
