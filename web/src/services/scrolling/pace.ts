/**
 * How much is drawn in one step: as much as takes a part of a second that nobody notices. A slow processor draws less, and as
 * much in the end.
 */
export class Pace {
  /** Time of a step, with its layout, above which the next one is smaller, in ms. */
  private static readonly MOST_MS = 40;

  /** least, most: bounds of the amount, which begins with the least one. */
  constructor(
    private readonly least: number,
    private readonly most: number,
    public amount = least,
  ) {}

  /** Follow the time that a step of `amount` took, in ms. */
  took(amount: number, milliseconds: number): void {
    if (milliseconds > Pace.MOST_MS) this.amount = Math.max(this.least, this.amount / 2);
    else if (amount >= this.amount && milliseconds < Pace.MOST_MS / 2) this.amount = Math.min(this.most, this.amount * 2);
  }
}
