import { BaseClient } from "./base_client";
import type { KeyPage, Limits, NewPerson, Person, PersonPage, TenantPage, TenantUsage } from "./types";

/** Rows of a page of administrators' lists. */
const ADMIN_PAGE = 50;

/** The routes of administrators. */
export abstract class AdminClient extends BaseClient {
  /** Create a person. The result holds the initial password, which cannot be read again. */
  addPerson(name: string, admin: boolean): Promise<NewPerson> {
    return this.json("post", "/api/admin/people", { body: { name, admin } });
  }

  /** Give a person a new initial password, and return it. The second factor is removed. */
  async resetPassword(personId: string): Promise<string> {
    return (await this.json("post", "/api/admin/people/{id}/password", { path: { id: personId } })).password;
  }

  /** Read a page of all keys of the server that contain a text, revoked ones too. */
  keys(q: string, cursor: string | null, signal: AbortSignal): Promise<KeyPage> {
    const query = { limit: ADMIN_PAGE, q, ...(cursor === null ? {} : { cursor }) };
    return this.json("get", "/api/admin/keys", { query, signal });
  }

  async revokeKey(id: string): Promise<void> {
    await this.request("delete", "/api/admin/keys/{id}", { path: { id } });
  }

  /** Make a person with a password an administrator, or a user. */
  setAdmin(personId: string, admin: boolean): Promise<Person> {
    return this.json("patch", "/api/admin/people/{id}", { path: { id: personId }, body: { admin } });
  }

  /** Delete a tenant for good, with its person, chats and keys. */
  async deleteTenant(tenant: string): Promise<void> {
    await this.request("delete", "/api/admin/tenants/{tenant}", { path: { tenant } });
  }

  /** Read a tenant's tokens by day. */
  tenantUsage(tenant: string, days: number): Promise<TenantUsage> {
    return this.json("get", "/api/admin/tenants/{tenant}/usage", { path: { tenant }, query: { days } });
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
}
