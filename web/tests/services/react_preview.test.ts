import { expect, it } from "vitest";

import { componentsOf } from "../../src/services/sandbox/react_preview";

it.each([
  ["function Tide() {}\nconst Row = () => null;\nconst helper = 1;", ["Row", "Tide"]],
  ["export default function App() {}\nclass Row {}", ["App", "Row"]],
  ["  const Inner = 1;\nconst lower = 2;", []],
])("finds the components of %j", (code, names) => expect(componentsOf(code)).toEqual(names));
