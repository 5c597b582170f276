import { t } from "../../i18n/language.svelte";
import type { ModelHealth } from "../api/types";

/** Return the model's name and its device as a sentence: "openpangu-7b runs on an NPU." */
export function describeModel({ name, device }: ModelHealth): string {
  const kind = device.split(":")[0] ?? "";
  return t().welcome.runs(name, t().welcome.devices[kind] ?? device);
}
