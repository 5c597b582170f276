/** Return `next`, with the parts of `before` that equal its own in their place. Both are plain objects, lists and values. */
export function shared<T>(before: unknown, next: T): T {
  if (before === next || !isParts(before) || !isParts(next)) return next;
  if (Array.isArray(next)) return (Array.isArray(before) ? sharedList(before, next) : next) as T;
  const keys = Object.keys(next);
  let isSame = !Array.isArray(before) && keys.length === Object.keys(before).length;
  const parts: Record<string, unknown> = {};
  for (const key of keys) {
    parts[key] = shared(before[key], next[key]);
    isSame &&= parts[key] === before[key];
  }
  return (isSame ? before : parts) as T;
}

function sharedList(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const list = next.map((part, index) => shared(before[index], part));
  return list.length === before.length && list.every((part, index) => part === before[index]) ? before : list;
}

function isParts(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
