import { expect, it } from "vitest";

import { startStep } from "../../src/services/start_step";

it.each([
  ["Downloading the model: 120 of 640 MB", "download", "120 / 640 MB"],
  ["Verifying the model", "verify", ""],
  ["Compiling 3 of 12 kernels", "compile", "3 / 12"],
  ["Another sentence", "load", ""],
])("knows the step of %j", (sentence, step, figure) => {
  expect(startStep(sentence)).toEqual({ step, figure });
});
