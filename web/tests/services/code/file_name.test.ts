import { expect, it } from "vitest";

import { fileName } from "../../../src/services/code/file_name";

it.each([
  ["python", "code.py"],
  ["Rust", "code.rs"],
  ["go", "code.go"],
  ["", "code.txt"],
  ["Dockerfile", "Dockerfile"],
  ["constructor", "code.txt"],
  ['python title="src/app.py"', "app.py"],
  ["ts main.test.ts", "main.test.ts"],
  ["js {1,3}", "code.js"],
  ["python ../.bashrc", "code.py"],
])("names code of %s %s", (info, name) => expect(fileName(info)).toBe(name));
