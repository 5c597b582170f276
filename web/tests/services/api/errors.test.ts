import { afterEach, describe, expect, it } from "vitest";

import { language } from "../../../src/i18n/language.svelte";
import { ApiError, describeError } from "../../../src/services/api/errors";

afterEach(() => language.choose("en"));

describe("a refusal of the server", () => {
  const refused = (status: number, code: string | null) => describeError(new ApiError(status, { message: "Said by the server", code, param: null, type: "" })).what;

  it("has the page's language where there is a translation", async () => {
    expect(refused(429, null)).toBe("Said by the server.");
    await language.choose("zh");
    expect(refused(429, null)).toBe("服务器现在太忙。");
    expect(refused(409, "head_moved")).toBe("与此同时，这个对话中发送了另一条消息。");
    expect(refused(400, "new_code")).toBe("Said by the server.");
  });
});
