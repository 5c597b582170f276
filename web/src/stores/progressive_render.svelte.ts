/**
 * Rendering of a long list over several frames: the last `step` elements first, then `step` more above them per frame. Elements
 * that a growing list gets later are drawn at the same pace, if they are more than `step`.
 */
export class ProgressiveRender {
  private first = $state(0);
  private last = $state(0);
  private frame = 0;

  constructor(
    private count: number,
    private readonly step: number,
    private readonly printing: { readonly now: boolean },
  ) {
    this.first = Math.max(0, count - step);
    this.last = count;
    this.schedule();
  }

  /** Index of the first element to draw. */
  get from(): number {
    return this.printing.now ? 0 : this.first;
  }

  /** Index after the last element to draw. */
  get to(): number {
    return this.printing.now ? Infinity : this.last;
  }

  /** Follow the number of elements of the list. */
  grow(count: number): void {
    if (count === this.count) return;
    this.count = count;
    this.last = count <= this.last ? count : Math.min(count, this.last + this.step);
    this.schedule();
  }

  end(): void {
    cancelAnimationFrame(this.frame);
  }

  private schedule(): void {
    if (this.first === 0 && this.last === this.count) return;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.first = Math.max(0, this.first - this.step);
      this.last = Math.min(this.count, this.last + this.step);
      this.schedule();
    });
  }
}
