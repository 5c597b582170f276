import { channelOf } from "../browser_storage";

/** Message to the browser's other tabs: data changed, or the person logged out. */
export type TabMessage = "changed" | "left";

/** Channel between the browser's tabs. */
export class Tabs {
  private readonly channel = channelOf("ebb");

  broadcast(message: TabMessage): void {
    this.channel?.postMessage(message);
  }

  /** Call `listener` whenever another tab broadcasts `message`. Return the function that stops this. */
  listen(message: TabMessage, listener: () => void): () => void {
    const onMessage = ({ data }: MessageEvent<TabMessage>) => {
      if (data === message) listener();
    };
    this.channel?.addEventListener("message", onMessage);
    return () => this.channel?.removeEventListener("message", onMessage);
  }
}
