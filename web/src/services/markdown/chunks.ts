/** Cuts a list that may grow into groups of `size`. A group whose members stayed the same stays the same array. */
export class Chunks<T> {
  private groups: readonly (readonly T[])[] = [];

  constructor(private readonly size: number) {}

  update(list: readonly T[]): readonly (readonly T[])[] {
    const groups: (readonly T[])[] = [];
    for (let start = 0; start < list.length; start += this.size) {
      const group = list.slice(start, start + this.size);
      const before = this.groups[groups.length];
      const same = before?.length === group.length && group.every((member, place) => member === before[place]);
      groups.push(same ? before : group);
    }
    return (this.groups = groups);
  }
}
