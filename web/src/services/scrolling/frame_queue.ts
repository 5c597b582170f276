/** Does one thing per frame, of what is asked for: that of the element which is nearest to the middle of the screen. */
export class FrameQueue {
  private readonly asked = new Map<Element, () => void>();
  private frame = 0;

  ask(element: Element, act: () => void): void {
    this.asked.set(element, act);
    this.frame ||= requestAnimationFrame(this.next);
  }

  forget(element: Element): void {
    this.asked.delete(element);
  }

  private readonly next = (): void => {
    this.frame = 0;
    const element = this.nearest();
    if (element === null) return;
    const act = this.asked.get(element)!;
    this.asked.delete(element);
    act();
    if (this.asked.size > 0) this.frame = requestAnimationFrame(this.next);
  };

  private nearest(): Element | null {
    let [found, least]: [Element | null, number] = [null, Infinity];
    for (const element of this.asked.keys()) {
      const { top, bottom } = element.getBoundingClientRect();
      const away = Math.abs(top + bottom - innerHeight);
      if (away < least) [found, least] = [element, away];
    }
    return found;
  }
}
