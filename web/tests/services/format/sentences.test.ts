import { afterEach, expect, it } from "vitest";

import { language } from "../../../src/i18n/language.svelte";
import { sentences } from "../../../src/services/format/sentences";

afterEach(() => language.choose("en"));

it("joins sentences as the page's language does", async () => {
  expect(sentences("The file is empty.", "", "Choose another one.")).toBe("The file is empty. Choose another one.");
  await language.choose("zh");
  expect(sentences("文件为空。", "请选择其他文件。")).toBe("文件为空。请选择其他文件。");
});
