import { afterEach, expect, it, vi } from "vitest";

import { language } from "../../src/i18n/language.svelte";
import { componentsOf, reactPage } from "../../src/services/sandbox/react_preview";

afterEach(() => language.choose("en"));

it.each([
  ["function Tide() {}\nconst Row = () => null;\nconst helper = 1;", ["Row", "Tide"]],
  ["export default function App() {}\nclass Row {}", ["App", "Row"]],
  ["  const Inner = 1;\nconst lower = 2;", []],
])("finds the components of %j", (code, names) => expect(componentsOf(code)).toEqual(names));

it("describes a missing module or component in the page's language", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("")));
  await language.choose("de");
  const { script } = await reactPage("const lower = 1;");
  expect(script).toContain('"Das Modul {name} gibt es in Vorschauen nicht. Sie haben nur react und react-dom."');
  expect(script).toContain('"Es gibt keine Komponente zum Anzeigen. Exportiere eine als Standard."');
});
