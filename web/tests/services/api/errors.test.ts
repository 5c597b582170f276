import { afterEach, describe, expect, it } from "vitest";

import { language } from "../../../src/i18n/language.svelte";
import { ApiError, describeError, describeFailure } from "../../../src/services/api/errors";

afterEach(() => language.choose("en"));

describe("a refusal of the server", () => {
  const refused = (status: number, code: string | null) => describeError(new ApiError(status, { message: "Said by the server", code, param: null, type: "" })).what;

  it("has the page's language", async () => {
    expect(refused(429, null)).toBe("Said by the server.");
    await language.choose("zh");
    expect(refused(429, null)).toBe("请求过多。");
    expect(refused(429, "conversations_limit")).toBe("存储的对话数已达限额。");
    expect(refused(409, "head_moved")).toBe("此对话中已发送了另一条消息。");
    expect(refused(400, "new_code")).toBe("服务器没有接受此请求（new_code）。");
  });

  it("advises to log in again only where that helps", () => {
    const advised = (status: number, code: string) => describeError(new ApiError(status, { message: "", code })).todo;
    expect(advised(401, "invalid_api_key")).toBe("Reload the page to log in again.");
    expect(advised(403, "admin_scope_required")).toBe("Reload the page to log in again.");
    expect(advised(403, "share_links_off")).toBe("");
    expect(advised(403, "right_required")).toBe("");
  });

  it("adds no advice to a text that names the remedy", () => {
    const said = { message: "The disk of the state directory is full. Free some space, then try again.", code: "storage_full", param: null, type: "" };
    const whole = { what: said.message, todo: "" };
    expect(describeError(new ApiError(507, said))).toEqual(whole);
    expect(describeFailure(said)).toEqual(whole);
  });

  it("advises to make room where waiting is no help", () => {
    const advised = (code: string) => describeError(new ApiError(429, { message: "", code, param: null, type: "" })).todo;
    expect(advised("stored_bytes_limit")).toBe("Delete chats for good, then try again.");
    expect(advised("requests_per_minute_limit")).toBe("Wait a moment, then try again.");
  });
});
