import { t } from "../../i18n/language.svelte";
import type { ModelHealth } from "../api/types";

/** Which model runs, and on what: "openpangu-7b runs on an NPU." */
export function modelWords({ name, device }: ModelHealth): string {
  const kind = device.split(":")[0] ?? "";
  return t().welcome.runs(name, t().welcome.devices[kind] ?? device);
}
