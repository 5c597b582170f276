/** Queue that runs one task per frame, first the task of the element nearest to the middle of the screen. */
export class FrameQueue {
  private readonly tasks = new Map<Element, () => void>();
  private frame = 0;

  add(element: Element, task: () => void): void {
    this.tasks.set(element, task);
    this.frame ||= requestAnimationFrame(this.runNext);
  }

  remove(element: Element): void {
    this.tasks.delete(element);
  }

  private readonly runNext = (): void => {
    this.frame = 0;
    const element = this.nearest();
    if (element === null) return;
    const task = this.tasks.get(element)!;
    this.tasks.delete(element);
    task();
    if (this.tasks.size > 0) this.frame = requestAnimationFrame(this.runNext);
  };

  private nearest(): Element | null {
    let [nearest, least]: [Element | null, number] = [null, Infinity];
    for (const element of this.tasks.keys()) {
      const { top, bottom } = element.getBoundingClientRect();
      const distance = Math.abs(top + bottom - innerHeight);
      if (distance < least) [nearest, least] = [element, distance];
    }
    return nearest;
  }
}
