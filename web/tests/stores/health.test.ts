import { describe, expect, it } from "vitest";

import { UnreachableError } from "../../src/services/api/errors";
import type { Health } from "../../src/services/api/types";
import { HealthStore } from "../../src/stores/health.svelte";
import { FakeApi } from "../fake_server";

/** API client whose responses a test settles, in any order. */
class SlowApi extends FakeApi {
  readonly questions: PromiseWithResolvers<Health>[] = [];

  override health(): Promise<Health> {
    this.questions.push(Promise.withResolvers<Health>());
    return this.questions.at(-1)!.promise;
  }
}

describe("the state of the server", () => {
  it("comes from the last request, whatever the order of responses", async () => {
    const api = new SlowApi();
    const health = new HealthStore(api);
    const [before, after] = [health.poll(), health.poll()];

    api.questions[1]!.reject(new UnreachableError());
    await after;
    expect(health.reachable).toBe(false);

    api.questions[0]!.resolve(await new FakeApi().health());
    await before;
    expect(health.reachable).toBe(false);
  });

  it("tells why a device does not compute", async () => {
    const api = new SlowApi();
    const health = new HealthStore(api);
    const poll = health.poll();
    const ok = await new FakeApi().health();
    api.questions[0]!.resolve({ ...ok, model: { ...ok.model!, device_note: "cuda failed its check." } });
    await poll;
    expect(health.ready).toBe(true);
    expect(health.trouble).toBe("Answers are slower than they could be: cuda failed its check.");
  });
});
