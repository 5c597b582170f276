/** Of many things that come at once the last are drawn first, and some more above them in each frame that follows. */
export class Filling {
  /** Of the first that is drawn. */
  from = $state(0);
  private frame = 0;

  /** step: so many are drawn in one frame. */
  constructor(
    count: number,
    private readonly step: number,
  ) {
    this.from = Math.max(0, count - step);
    this.go();
  }

  end(): void {
    cancelAnimationFrame(this.frame);
  }

  private go(): void {
    if (this.from === 0) return;
    this.frame = requestAnimationFrame(() => {
      this.from = Math.max(0, this.from - this.step);
      this.go();
    });
  }
}
