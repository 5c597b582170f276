/** Write positions as the server reads them: `0-41,43`. */
export function rangesOf(positions: Iterable<number>): string {
  const parts: [number, number][] = [];
  for (const position of [...positions].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last !== undefined && last[1] + 1 === position) last[1] = position;
    else parts.push([position, position]);
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}
