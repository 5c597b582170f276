import type { ApiClient } from "../services/api/client";
import type { Login, Right } from "../services/api/types";

/** The login. The page never stores the key: the browser has a cookie that no script can read. */
export class Session {
  current = $state<Login | null>(null);
  /** Whether the server requires a key and this page has no valid login. */
  readonly out = $derived(this.current !== null && this.current.demands_keys && this.current.principal === null);
  /** Tenant that owns the chats; null without a login to end. */
  readonly tenant = $derived(this.current?.demands_keys ? (this.current.principal?.tenant ?? null) : null);

  /** Name of the person that is logged in, or of the key's tenant; null without a login to end. */
  readonly name = $derived(this.current?.principal?.name ?? this.tenant);
  /** Whether the login may manage the server. */
  readonly isAdmin = $derived(this.current?.principal?.scope === "admin");

  /** Whether the login may not see figures of the whole server. While this is unknown, the server decides. */
  readonly isUser = $derived(this.current?.principal?.scope === "user");

  /** Return whether the login may use a feature. While this is unknown, the server decides. */
  may(right: Right): boolean {
    return this.current?.principal?.rights?.includes(right) ?? true;
  }

  private loading = false;

  constructor(
    private readonly api: ApiClient,
    /** Erase the person's data from the browser. */
    private readonly forget: () => void,
    /** Notify the browser's other tabs that the person has left. */
    private readonly notifyTabs: () => void,
    /** Reload the page without any state of the previous person. */
    private readonly restart: (path: string) => void = (path) => location.replace(path),
  ) {}

  /** Read the login from the server. */
  async load(): Promise<void> {
    this.loading = true;
    const login = await this.api.login().finally(() => (this.loading = false));
    if (login.demands_keys && login.principal === null) this.onLost();
    this.current = login;
  }

  /**
   * Forget the person after the server refused a request: the key was revoked, or the login has ended. While the login is being
   * read, its response decides: it also has what the form needs.
   */
  onLost(): void {
    if (this.out || this.loading) return;
    this.current = { provider: null, passwords: false, directory: false, share_links: false, token_prices: null, ...this.current, demands_keys: true, principal: null };
    this.forget();
    this.notifyTabs();
  }

  /** Forget the person after another tab found that the login has ended. */
  onLeft(): void {
    this.forget();
    // A page without chats needs no restart, and two such pages would restart each other for ever.
    if (this.current !== null && !this.out) this.restart(location.pathname);
  }

  /** Log in and restart the page. Rejects like the API. */
  async logIn(key: string): Promise<void> {
    await this.api.logIn(key);
    this.restart(location.pathname);
  }

  /** Log in with a password and restart the page. Rejects like the API. */
  async logInWithPassword(name: string, password: string, code: string): Promise<void> {
    await this.api.logInWithPassword(name, password, code);
    this.restart(location.pathname);
  }

  /** Log in at the provider, which returns to this address. Rejects like the API. */
  async logInAtProvider(): Promise<void> {
    const { pathname, search } = location;
    this.restart(await this.api.startLogin(search.startsWith("?at=") ? pathname + search : pathname));
  }

  /** Log out and restart the page, at the address that ends the session at the provider. Rejects like the API. */
  async logOut(then: string | null = null): Promise<void> {
    await this.api.logOut();
    this.forget();
    this.notifyTabs();
    this.restart(then ?? "/");
  }
}
