import { textsOf } from "./language.svelte";
import type { OrganizeTexts } from "./en/organize";

/** Return the texts for folders, tags and the selection of chats, in the page's language. */
export const organizeTexts = textsOf(import.meta.glob<OrganizeTexts>("./*/organize.ts", { import: "texts" }));
