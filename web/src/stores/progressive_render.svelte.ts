/** Rendering of a long list over several frames: the last `step` elements first, then `step` more above them per frame. */
export class ProgressiveRender {
  private first = $state(0);
  private frame = 0;

  constructor(
    count: number,
    private readonly step: number,
    private readonly printing: { readonly now: boolean },
  ) {
    this.first = Math.max(0, count - step);
    this.schedule();
  }

  /** Index of the first element to draw. */
  get from(): number {
    return this.printing.now ? 0 : this.first;
  }

  end(): void {
    cancelAnimationFrame(this.frame);
  }

  private schedule(): void {
    if (this.first === 0) return;
    this.frame = requestAnimationFrame(() => {
      this.first = Math.max(0, this.first - this.step);
      this.schedule();
    });
  }
}
