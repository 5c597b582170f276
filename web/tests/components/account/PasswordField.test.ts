import { expect, it } from "vitest";

import PasswordField from "../../../src/components/account/PasswordField.svelte";
import { mountWith, press } from "../mounting";

it("shows the password as it was typed, and hides it again", () => {
  mountWith({}, PasswordField as never, { label: "Password", value: "gulls", autocomplete: "current-password" });
  const field = document.querySelector("input")!;
  expect(field.type).toBe("password");
  press("Show the characters");
  expect([field.type, field.value]).toEqual(["text", "gulls"]);
  press("Show the characters");
  expect(field.type).toBe("password");
});
