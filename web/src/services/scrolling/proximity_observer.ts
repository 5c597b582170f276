/** Is told whether what it watches is near the screen, and how high it is, in px. */
export type OnProximity = (near: boolean, height: number) => void;

/** Watches parts of the scrolling page: near is what stands within `margin` px above or below what is on the screen. */
export class ProximityObserver {
  private readonly told = new Map<Element, OnProximity>();
  private observer: IntersectionObserver | null = null;

  constructor(private readonly margin: number) {}

  /** `element` stands inside the scrolling page. Returns what ends the watch. */
  watch(element: Element, told: OnProximity): () => void {
    this.observer ??= new IntersectionObserver((entries) => this.tell(entries), {
      root: element.closest("[data-scroller]"),
      rootMargin: `${this.margin}px 0px`,
    });
    this.told.set(element, told);
    this.observer.observe(element);
    return () => {
      this.told.delete(element);
      this.observer?.unobserve(element);
    };
  }

  private tell(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      this.told.get(target)?.(isIntersecting, boundingClientRect.height);
    }
  }
}
