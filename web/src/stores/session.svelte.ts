import type { ApiClient } from "../services/api/client";
import type { Login } from "../services/api/types";

/** Who is logged in. The key itself is never kept: the browser has a cookie that no script can read. */
export class Session {
  current = $state<Login | null>(null);
  /** The server demands a key, and this page has shown none that opens anything. */
  readonly out = $derived(this.current !== null && this.current.demands_keys && this.current.principal === null);
  /** Whose chats these are, where there is something to log out of. */
  readonly tenant = $derived(this.current?.demands_keys ? (this.current.principal?.tenant ?? null) : null);

  /** Whether the numbers of the whole server are somebody else's business. While that is not known, the server says. */
  readonly isUser = $derived(this.current?.principal?.scope === "user");

  constructor(
    private readonly api: ApiClient,
    /** Forgets what the browser keeps of the person who is here. */
    private readonly forget: () => void,
    /** Tells the browser's other tabs that this person is here no more. */
    private readonly tell: () => void,
    /** Begins anew with nothing of whoever was here before. */
    private readonly restart: (path: string) => void = (path) => location.replace(path),
  ) {}

  async look(): Promise<void> {
    const found = await this.api.login();
    if (found.demands_keys && found.principal === null) this.lost();
    else this.current = found;
  }

  /** The server refused a request: the key was revoked, or the login has ended. */
  lost(): void {
    if (this.out) return;
    this.current = { demands_keys: true, principal: null };
    this.forget();
    this.tell();
  }

  /** Another tab found that this person is here no more. */
  left(): void {
    this.forget();
    // A page that shows no chat has nothing to begin anew, and two of them would never cease to.
    if (this.current !== null && !this.out) this.restart(location.pathname);
  }

  /** Rejects like the API. */
  async logIn(key: string): Promise<void> {
    await this.api.logIn(key);
    this.restart(location.pathname);
  }

  /** Rejects like the API. */
  async logOut(): Promise<void> {
    await this.api.logOut();
    this.forget();
    this.tell();
    this.restart("/");
  }
}
