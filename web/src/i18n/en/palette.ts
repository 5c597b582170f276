/** English texts for the palette. */
export const texts = {
  field: "Search chats and commands",
  results: "Results",
  actions: "Commands",
  chats: "Chats",
  messages: "Messages",
  none: "Nothing found.",
  sidebar: "Show or hide the list of chats",
  search: "Search in the list of chats",
  preset: (name: string) => `Preset: ${name}`,
};

export type PaletteTexts = typeof texts;
