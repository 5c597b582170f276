import { afterEach, expect, it, vi } from "vitest";

import { offlineWorker } from "../../src/background/offline";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

it("registers the worker of a language once, when the page has rested, unless that is cancelled", async () => {
  vi.useFakeTimers();
  vi.stubEnv("PROD", true);
  vi.stubGlobal("isSecureContext", true);
  const register = vi.fn(() => Promise.resolve());
  vi.stubGlobal("navigator", { serviceWorker: { register } });

  const registerFor = offlineWorker();
  const cancel = registerFor("en");
  await vi.advanceTimersByTimeAsync(1_000);
  cancel();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(register).not.toHaveBeenCalled();

  registerFor("de");
  expect(register).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(register).toHaveBeenCalledExactlyOnceWith("/offline.js?language=de", { updateViaCache: "none" });

  registerFor("de");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(register).toHaveBeenCalledOnce();
});
