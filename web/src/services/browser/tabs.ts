/** What one tab says to the browser's others: something was changed, or the person who was logged in has left. */
export type TabNews = "changed" | "left";

/** Tells the browser's other tabs what happened here, and is told. */
export class Tabs {
  private readonly channel = new BroadcastChannel("ebb");

  tell(news: TabNews = "changed"): void {
    this.channel.postMessage(news);
  }

  /** Calls `told` whenever another tab said `news`; the returned function stops. */
  listen(news: TabNews, told: () => void): () => void {
    const hear = ({ data }: MessageEvent<TabNews>) => {
      if (data === news) told();
    };
    this.channel.addEventListener("message", hear);
    return () => this.channel.removeEventListener("message", hear);
  }
}
