import { textsOf } from "../language.svelte";
import type { OrganizeTexts } from "./en";

/** Return the texts for folders, tags and the selection of chats, in the page's language. */
export const organizeTexts = textsOf<OrganizeTexts>({
  de: () => import("./de"),
  en: () => import("./en"),
  zh: () => import("./zh"),
});
