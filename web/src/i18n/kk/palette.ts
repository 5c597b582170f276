import type { PaletteTexts } from "../en/palette";

/** Kazakh texts for the palette. */
export const texts: PaletteTexts = {
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
