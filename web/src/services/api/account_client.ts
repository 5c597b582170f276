import { AdminClient } from "./admin_client";
import type { Account, AccountUsage, ApiKey, Login, NewApiKey, PersonSession, SecondFactor } from "./types";

/** The routes of logins and the own account. */
export abstract class AccountClient extends AdminClient {
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

  async logOut(): Promise<void> {
    await this.request("post", "/api/logout", {});
  }
}
