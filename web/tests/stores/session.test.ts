import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { ApiClient } from "../../src/services/api/client";
import type { Login } from "../../src/services/api/types";
import { Session } from "../../src/stores/session.svelte";

const answers: Response[] = [];
const asked: [string, RequestInit][] = [];
const restarted: string[] = [];
let session: Session;
let api: ApiClient;

beforeEach(() => {
  for (const list of [answers, asked, restarted]) list.length = 0;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    asked.push([path, init]);
    return Promise.resolve(answers.shift()!);
  });
  api = new ApiClient(() => session.onLost());
  session = new Session(api, () => restarted.push("forgotten"), () => restarted.push("told"), (path) => restarted.push(path));
});

afterEach(() => vi.unstubAllGlobals());

const refusal = () => Response.json({ error: { message: "No", code: "invalid_api_key" } }, { status: 401 });
const alice = { tenant: "alice", scope: "user", key_id: "k", name: null, initial_password: false };

it("has no login if the server requires no keys", async () => {
  answers.push(Response.json({ demands_keys: false, principal: { tenant: "local", scope: "admin", key_id: null } }));
  expect(session.out).toBe(false);
  await session.load();
  expect([session.out, session.tenant]).toEqual([false, null]);
});

it("may use what the server names, and everything while that is unknown", async () => {
  expect([session.may("export"), session.may("keys")]).toEqual([true, true]);
  answers.push(Response.json({ demands_keys: true, principal: { ...alice, rights: ["export"] } }));
  await session.load();
  expect([session.may("export"), session.may("keys")]).toEqual([true, false]);
});

it("requires a login, and restarts the page after it", async () => {
  answers.push(Response.json({ demands_keys: true, principal: null }), refusal());
  await session.load();
  expect(session.out).toBe(true);
  await expect(session.logIn("wrong")).rejects.toMatchObject({ status: 401 });
  expect(restarted).toEqual(["forgotten", "told"]);
  restarted.length = 0;
  answers.push(Response.json({ demands_keys: true, principal: alice }));
  await session.logIn("sk-ebb-right");
  expect(asked.at(-1)).toEqual(["/api/login", expect.objectContaining({ body: '{"key":"sk-ebb-right"}' })]);
  expect(restarted).toEqual([location.pathname]);
});

it("leaves it to the login that is being read whether the person has to log in", async () => {
  let answer: (login: Login) => void = () => undefined;
  vi.spyOn(api, "login").mockReturnValue(new Promise((resolve) => (answer = resolve)));
  const loaded = session.load();
  answers.push(refusal());
  await expect(api.folders()).rejects.toMatchObject({ status: 401 });
  expect(session.out).toBe(false);
  answer({ demands_keys: true, principal: null, provider: "Example" } as Login);
  await loaded;
  expect([session.out, session.current?.provider, restarted]).toEqual([true, "Example", ["forgotten", "told"]]);
});

it("forgets the person once after a refused key, and notifies the tabs", async () => {
  answers.push(Response.json({ demands_keys: true, principal: alice }), refusal(), refusal());
  await session.load();
  expect([session.out, session.tenant]).toEqual([false, "alice"]);
  for (const _ of [1, 2]) await expect(api.folders()).rejects.toMatchObject({ status: 401 });
  expect([session.out, session.tenant]).toEqual([true, null]);
  expect(restarted).toEqual(["forgotten", "told"]);
});

it("forgets the person at log-out, notifies the tabs, and restarts", async () => {
  answers.push(Response.json({ demands_keys: true, principal: alice }), new Response(null, { status: 204 }));
  await session.load();
  await session.logOut();
  expect(restarted).toEqual(["forgotten", "told", "/"]);
});

it("knows the provider even if another request was refused first", async () => {
  answers.push(refusal(), Response.json({ demands_keys: true, principal: null, provider: "login.example" }));
  await expect(api.folders()).rejects.toMatchObject({ status: 401 });
  expect(session.current?.provider).toBeNull();
  await session.load();
  expect([session.out, session.current?.provider]).toEqual([true, "login.example"]);
});

it("logs in at the provider, and logs out there as well", async () => {
  answers.push(Response.json({ demands_keys: true, principal: null, provider: "login.example" }));
  await session.load();
  expect(session.current?.provider).toBe("login.example");
  answers.push(Response.json({ url: "https://login.example/authorize" }));
  await session.logInAtProvider();
  expect(asked.at(-1)).toEqual(["/api/login/start", expect.objectContaining({ body: '{"next":"/"}' })]);
  expect(restarted.at(-1)).toBe("https://login.example/authorize");
  const ada = { tenant: "person-1", scope: "admin", key_id: null, name: "Ada", initial_password: false };
  answers.push(Response.json({ demands_keys: true, principal: ada, provider: "login.example" }), new Response(null, { status: 204 }));
  await session.load();
  expect([session.name, session.isAdmin]).toEqual(["Ada", true]);
  await session.logOut("https://login.example/end");
  expect(restarted.at(-1)).toBe("https://login.example/end");
});

it("forgets the person on another tab's message, and sends none", async () => {
  answers.push(Response.json({ demands_keys: true, principal: alice }));
  await session.load();
  session.onLeft();
  expect(restarted).toEqual(["forgotten", location.pathname]);
});

it("does not restart for another tab while logged out", async () => {
  session.onLeft();
  answers.push(Response.json({ demands_keys: true, principal: null }));
  await session.load();
  session.onLeft();
  expect(restarted).toEqual(["forgotten", "forgotten", "told", "forgotten"]);
});
