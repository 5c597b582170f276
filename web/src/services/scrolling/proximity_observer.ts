/** Receiver of whether an element is near the screen, and of its height in px. */
export type OnProximity = (near: boolean, height: number) => void;

/** Observer of elements in the scrolling page. An element is near within `margin` px above or below the screen. */
export class ProximityObserver {
  private readonly receivers = new Map<Element, OnProximity>();
  private observer: IntersectionObserver | null = null;

  constructor(private readonly margin: number) {}

  /** Observe an element inside the scrolling page. Return the function that stops this. */
  observe(element: Element, receiver: OnProximity): () => void {
    this.observer ??= new IntersectionObserver((entries) => this.dispatch(entries), {
      root: element.closest("[data-scroller]"),
      rootMargin: `${this.margin}px 0px`,
    });
    this.receivers.set(element, receiver);
    this.observer.observe(element);
    return () => {
      this.receivers.delete(element);
      this.observer?.unobserve(element);
    };
  }

  private dispatch(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      this.receivers.get(target)?.(isIntersecting, boundingClientRect.height);
    }
  }
}
