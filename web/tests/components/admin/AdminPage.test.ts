import { flushSync } from "svelte";
import { afterEach, expect, it, vi } from "vitest";

import AddPerson from "../../../src/components/admin/AddPerson.svelte";
import AdminPage from "../../../src/components/admin/AdminPage.svelte";
import LimitsDialog from "../../../src/components/admin/LimitsDialog.svelte";
import { language } from "../../../src/i18n/language.svelte";
import type { Health, Limits, NewPerson, Person, Tenant } from "../../../src/services/api/types";
import { HealthStore } from "../../../src/stores/health.svelte";
import { Notices } from "../../../src/stores/notices.svelte";
import { FakeApi } from "../../fake_server";
import { mountWith, press } from "../mounting";

afterEach(() => language.choose("en"));

const ada: Person = {
  id: "1",
  tenant: "person-1",
  name: "ada",
  email: "",
  issuer: "ebb",
  groups: [],
  scope: "user",
  rights: [],
  created_at: 1_780_000_000,
  last_seen_at: null,
  disabled_at: null,
};

/** Return the status that the page shows for a state of the server. */
async function statusOf(status: Health["status"], changes: Partial<Health> = {}): Promise<string> {
  const api = new FakeApi();
  const state = { ...(await api.health()), status, ...changes };
  api.health = () => Promise.resolve(state);
  api.people = () => Promise.resolve({ data: [], next_cursor: null });
  api.tenants = () => Promise.resolve({ data: [], next_cursor: null });
  api.keys = () => Promise.resolve({ data: [], next_cursor: null });
  const health = new HealthStore(api);
  await health.poll();
  mountWith({ api, health, session: { current: null } } as never, AdminPage as never, {});
  await vi.waitFor(() => expect(document.querySelector("dd")).not.toBeNull());
  return document.querySelector("dd")!.textContent;
}

it.each<[Health["status"], Partial<Health>, string]>([
  ["ok", {}, "Ready"],
  ["recovering", {}, "The model's processes are being restarted; requests will wait."],
  ["degraded", { reason: "The disk is full." }, "Chats cannot be stored right now. The disk is full."],
  ["starting", { starting: "downloading" }, "Downloading"],
])("names the state %s of the server in words", async (status, changes, words) => {
  expect(await statusOf(status, changes)).toBe(words);
});

it("names the state of the server in the page's language", async () => {
  await language.choose("de");
  expect(await statusOf("ok")).toBe("Bereit");
});

it("names no time for a person who never logged in", async () => {
  const api = new FakeApi();
  api.people = () => Promise.resolve({ data: [ada], next_cursor: null });
  api.tenants = () => Promise.resolve({ data: [], next_cursor: null });
  api.keys = () => Promise.resolve({ data: [], next_cursor: null });
  mountWith({ api, health: new HealthStore(api), session: { current: null } } as never, AdminPage as never, {});
  await vi.waitFor(() => expect(document.querySelector("td")).not.toBeNull());
  expect([...document.querySelectorAll("td")].map((cell) => cell.textContent.trim()).at(2)).toBe("–");
});

it("takes no second click while a person is being added", async () => {
  const api = new FakeApi();
  const added = Promise.withResolvers<NewPerson>();
  api.addPerson = () => added.promise;
  mountWith({ api }, AddPerson as never, { onadd: () => undefined });
  const [button, form] = [document.querySelector("button")!, document.querySelector("form")!];
  form.dispatchEvent(new SubmitEvent("submit", { cancelable: true }));
  flushSync();
  expect(button.disabled).toBe(true);
  added.resolve({ ...ada, password: "secret" });
  await vi.waitFor(() => expect(button.disabled).toBe(false));
});

it("shows and takes sizes in MiB", async () => {
  const none = { requests_per_minute: null, tokens_per_minute: null, concurrent_runs: null, conversations: null, open_requests: null, items_per_conversation: null };
  const tenant = { tenant: "ada", limits: { ...none, stored_bytes: 3 * 2 ** 19 } } as Tenant;
  const setLimits = vi.fn((_tenant: string, limits: Limits) => Promise.resolve(limits));
  const props = { tenant, name: "ada", onsaved: () => undefined, onclose: () => undefined };
  mountWith({ api: { setLimits } } as never, LimitsDialog as never, props);
  flushSync();
  const field = [...document.querySelectorAll("label")].find(({ textContent }) => textContent.includes("Storage (MiB)"))!.querySelector("input")!;
  expect(field.value).toBe("1.5");
  field.value = "2";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  const reserved = [...document.querySelectorAll("label")].find(({ textContent }) => textContent.includes("Reserved on the disk"))!.querySelector("input")!;
  reserved.value = "5";
  reserved.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector<HTMLButtonElement>("button.primary")!.click();
  await vi.waitFor(() => expect(setLimits).toHaveBeenCalledExactlyOnceWith("ada", { ...none, stored_bytes: 2 ** 21, kv_reserved: 5 * 2 ** 20 }));
});

/** Show the page to another administrator, with one person and one key. */
async function opened(): Promise<FakeApi> {
  const api = new FakeApi();
  api.people = () => Promise.resolve({ data: [ada], next_cursor: null });
  api.tenants = () => Promise.resolve({ data: [], next_cursor: null });
  const key = { id: "key_1", name: "script", tenant: "person-1", scope: "user" as const, created_at: 1, last_used_at: null, revoked_at: null };
  api.keys = () => Promise.resolve({ data: [key], next_cursor: null });
  mountWith({ api, health: new HealthStore(api), notices: new Notices(), session: { current: null, tenant: "person-2" } } as never, AdminPage as never, {});
  await vi.waitFor(() => expect(document.querySelector("td")).not.toBeNull());
  return api;
}

it("changes the role of a person with a password", async () => {
  const api = await opened();
  const changed = vi.spyOn(api, "setAdmin").mockResolvedValue({ ...ada, scope: "admin" });
  const role = document.querySelector<HTMLSelectElement>("select[aria-label='Role: ada']")!;
  role.value = "admin";
  role.dispatchEvent(new Event("change", { bubbles: true }));
  await vi.waitFor(() => expect(changed).toHaveBeenCalledExactlyOnceWith("1", true));
});

it("deletes a person once the administrator has read what goes", async () => {
  const api = await opened();
  const deleted = vi.spyOn(api, "deleteTenant").mockResolvedValue();
  press("Delete: ada");
  expect(document.querySelector("dialog")!.textContent).toMatch(/Delete “ada” for good\?.*all chats and files, the keys and the logins/s);
  expect(deleted).not.toHaveBeenCalled();
  api.people = () => Promise.resolve({ data: [], next_cursor: null });
  [...document.querySelectorAll<HTMLElement>("dialog button")].at(-1)!.click();
  await vi.waitFor(() => expect(document.body.textContent).toContain("No one has logged in yet."));
  expect(deleted).toHaveBeenCalledExactlyOnceWith("person-1");
});

it("revokes somebody's key", async () => {
  const api = await opened();
  const revoked = vi.spyOn(api, "revokeKey").mockResolvedValue();
  press("Revoke the key “script”");
  await vi.waitFor(() => expect(document.querySelector("[aria-label^='Revoke']")).toBeNull());
  expect(revoked).toHaveBeenCalledExactlyOnceWith("key_1");
});
