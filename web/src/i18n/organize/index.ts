import { textsOf } from "../language.svelte";
import type { OrganizeTexts } from "./en";

/** Return the texts for folders, tags and the selection of chats, in the page's language. */
export const organizeTexts = textsOf<OrganizeTexts>({
  de: () => import("./de"),
  en: () => import("./en"),
  es: () => import("./es"),
  fr: () => import("./fr"),
  it: () => import("./it"),
  ja: () => import("./ja"),
  ko: () => import("./ko"),
  pt: () => import("./pt"),
  ru: () => import("./ru"),
  zh: () => import("./zh"),
});
