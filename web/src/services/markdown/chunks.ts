/** Chunks of `size` elements of a list that may grow. A chunk whose elements are unchanged stays the same array. */
export class Chunks<T> {
  private chunks: readonly (readonly T[])[] = [];

  constructor(private readonly size: number) {}

  update(list: readonly T[]): readonly (readonly T[])[] {
    const chunks: (readonly T[])[] = [];
    for (let start = 0; start < list.length; start += this.size) {
      const chunk = list.slice(start, start + this.size);
      const before = this.chunks[chunks.length];
      const same = before?.length === chunk.length && chunk.every((element, index) => element === before[index]);
      chunks.push(same ? before : chunk);
    }
    return (this.chunks = chunks);
  }
}
