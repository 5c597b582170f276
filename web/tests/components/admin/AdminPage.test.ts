import { afterEach, expect, it, vi } from "vitest";

import AdminPage from "../../../src/components/admin/AdminPage.svelte";
import { language } from "../../../src/i18n/language.svelte";
import type { Health } from "../../../src/services/api/types";
import { HealthStore } from "../../../src/stores/health.svelte";
import { FakeApi } from "../../fake_server";
import { mountWith } from "../mounting";

afterEach(() => language.choose("en"));

/** Return the status that the page shows for a state of the server. */
async function statusOf(status: Health["status"], changes: Partial<Health> = {}): Promise<string> {
  const api = new FakeApi();
  const state = { ...(await api.health()), status, ...changes };
  api.health = () => Promise.resolve(state);
  api.people = () => Promise.resolve({ data: [], next_cursor: null });
  api.tenants = () => Promise.resolve({ data: [], next_cursor: null });
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
