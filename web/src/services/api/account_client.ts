import { ApiError } from "./errors";
import { request, type Call, type Method, type PathOf, type ResponseBody } from "./http";
import type {
  Account,
  AccountUsage,
  ApiKey,
  Limits,
  Login,
  NewApiKey,
  NewPerson,
  Person,
  PersonPage,
  PersonSession,
  SecondFactor,
  TenantPage,
} from "./types";

/** Rows of a page of administrators' lists. */
const ADMIN_PAGE = 50;

/** Client of the routes of logins, the own account and administrators. Rejects as `ApiClient` does. */
export class AccountClient {
  constructor(
    /** Called when the server refuses the login or the page has none. */
    private readonly onLoggedOut: () => void = () => undefined,
  ) {}

  login(): Promise<Login> {
    return this.json("get", "/api/login", {});
  }

  /** Exchange a key for a cookie. */
  logIn(key: string): Promise<Login> {
    return this.json("post", "/api/login", { body: { key } });
  }

  /** Log in with a password. code: of the second factor; "" without one. */
  logInWithPassword(name: string, password: string, code: string): Promise<Login> {
    return this.json("post", "/api/login/password", { body: { name, password, code } });
  }

  /** Change the own password. Logins in other browsers end. */
  async changePassword(oldPassword: string, newPassword: string): Promise<void> {
    const body = { old_password: oldPassword, new_password: newPassword };
    await this.request("put", "/api/account/password", { body });
  }

  /** Draw a second factor, which `confirmSecondFactor` turns on. */
  beginSecondFactor(password: string): Promise<SecondFactor> {
    return this.json("post", "/api/account/second-factor", { body: { password } });
  }

  /** Turn the second factor on, and return its recovery codes. */
  async confirmSecondFactor(code: string): Promise<string[]> {
    return (await this.json("put", "/api/account/second-factor", { body: { code } })).codes;
  }

  async removeSecondFactor(password: string): Promise<void> {
    await this.request("post", "/api/account/second-factor/removal", { body: { password } });
  }

  /** Create a person. The result holds the initial password, which cannot be read again. */
  addPerson(name: string, admin: boolean): Promise<NewPerson> {
    return this.json("post", "/api/admin/people", { body: { name, admin } });
  }

  /** Give a person a new initial password, and return it. The second factor is removed. */
  async resetPassword(personId: string): Promise<string> {
    return (await this.json("post", "/api/admin/people/{id}/password", { path: { id: personId } })).password;
  }

  /** Begin a login at the provider, which returns to `next`, a path of the page. Resolves with the address to open. */
  async startLogin(next: string): Promise<string> {
    return (await this.json("post", "/api/login/start", { body: { next } })).url;
  }

  account(): Promise<Account> {
    return this.json("get", "/api/account", {});
  }

  /** Read the tokens of the answers of the last days. */
  usage(days: number): Promise<AccountUsage> {
    return this.json("get", "/api/account/usage", { query: { days } });
  }

  /** Count the chats from before the first key that this login may take over. */
  async formerChats(): Promise<number> {
    return (await this.json("get", "/api/account/former-chats", {})).chats;
  }

  /** Return whether there are chats from before the first key that only another login may take over. */
  async hasUnclaimedChats(): Promise<boolean> {
    return (await this.json("get", "/api/account/former-chats", {})).unclaimed;
  }

  /** Take over the chats from before the first key, and return their number. */
  async takeFormerChats(): Promise<number> {
    return (await this.json("post", "/api/account/former-chats", {})).chats;
  }

  /** Refuse them, so that no browser offers them again. */
  async refuseFormerChats(): Promise<void> {
    await this.request("delete", "/api/account/former-chats", {});
  }

  async ownKeys(): Promise<ApiKey[]> {
    return (await this.json("get", "/api/account/keys", {})).data;
  }

  /** Create a key of the own account. The result holds the key, which cannot be read again. */
  createOwnKey(name: string): Promise<NewApiKey> {
    return this.json("post", "/api/account/keys", { body: { name } });
  }

  async revokeOwnKey(id: string): Promise<void> {
    await this.request("delete", "/api/account/keys/{id}", { path: { id } });
  }

  async ownSessions(): Promise<PersonSession[]> {
    return (await this.json("get", "/api/account/sessions", {})).data;
  }

  async endSession(id: string): Promise<void> {
    await this.request("delete", "/api/account/sessions/{id}", { path: { id } });
  }

  /** Read a page of the people that contain a text; "" stands for all. */
  people(q: string, cursor: string | null, signal: AbortSignal): Promise<PersonPage> {
    const query = { limit: ADMIN_PAGE, q, ...(cursor === null ? {} : { cursor }) };
    return this.json("get", "/api/admin/people", { query, signal });
  }

  setDisabled(personId: string, disabled: boolean): Promise<Person> {
    return this.json("patch", "/api/admin/people/{id}", { path: { id: personId }, body: { disabled } });
  }

  /** Read a page of the tenants that contain a text; "" stands for all. */
  tenants(q: string, cursor: string | null, signal: AbortSignal): Promise<TenantPage> {
    const query = { limit: ADMIN_PAGE, q, ...(cursor === null ? {} : { cursor }) };
    return this.json("get", "/api/admin/tenants", { query, signal });
  }

  async setLimits(tenant: string, limits: Limits): Promise<Limits> {
    return (await this.json("put", "/api/admin/tenants/{tenant}/limits", { path: { tenant }, body: limits })).limits;
  }

  async logOut(): Promise<void> {
    await this.request("post", "/api/logout", {});
  }

  protected async json<M extends Method, P extends PathOf<M>>(method: M, path: P, call: Call<M, P>): Promise<ResponseBody<M, P>> {
    const response = await this.request(method, path, call);
    return (await response.json()) as ResponseBody<M, P>;
  }

  protected async request<M extends Method, P extends PathOf<M>>(method: M, path: P, call: Call<M, P>): Promise<Response> {
    try {
      return await request(method, path, call);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.onLoggedOut();
      throw error;
    }
  }
}
