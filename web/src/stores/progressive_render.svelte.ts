/** Of many things that come at once the last are drawn first, and some more above them in each frame that follows. */
export class ProgressiveRender {
  private first = $state(0);
  private frame = 0;

  /** step: so many are drawn in one frame. */
  constructor(
    count: number,
    private readonly step: number,
    private readonly printing: { readonly now: boolean },
  ) {
    this.first = Math.max(0, count - step);
    this.go();
  }

  /** Of the first that is drawn. */
  get from(): number {
    return this.printing.now ? 0 : this.first;
  }

  end(): void {
    cancelAnimationFrame(this.frame);
  }

  private go(): void {
    if (this.first === 0) return;
    this.frame = requestAnimationFrame(() => {
      this.first = Math.max(0, this.first - this.step);
      this.go();
    });
  }
}
