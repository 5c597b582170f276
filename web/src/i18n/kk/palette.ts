import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Kazakh texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "Чаттар мен командаларды іздеу",
  results: "Нәтижелер",
  actions: "Командалар",
  chats: "Чаттар",
  messages: "Хабарлар",
  none: "Ештеңе табылмады.",
  sidebar: "Чаттар тізімін көрсету немесе жасыру",
  search: "Чаттар тізімінен іздеу",
  preset: (name) => `Дайын баптау: ${name}`,
};
