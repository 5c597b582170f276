import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Georgian texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "ჩატებისა და ბრძანებების ძიება",
  results: "შედეგები",
  actions: "ბრძანებები",
  chats: "ჩატები",
  messages: "შეტყობინებები",
  none: "ვერაფერი მოიძებნა.",
  sidebar: "ჩატების სიის ჩვენება ან დამალვა",
  search: "ჩატების სიაში ძიება",
  preset: (name) => `შაბლონი: ${name}`,
};
