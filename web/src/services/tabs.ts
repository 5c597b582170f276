/** Tells the browser's other tabs that something was changed here, and is told. */
export class Tabs {
  private readonly channel = new BroadcastChannel("ebb");

  tell(): void {
    this.channel.postMessage(null);
  }

  /** Calls `told` whenever another tab changed something; the returned function stops. */
  listen(told: () => void): () => void {
    this.channel.addEventListener("message", told);
    return () => this.channel.removeEventListener("message", told);
  }
}
