import type { PaletteTexts } from "../en/palette";
import type { PartialTexts } from "../fallback";

/** Bengali texts for the palette. */
export const texts: PartialTexts<PaletteTexts> = {
  field: "চ্যাট ও কমান্ড খুঁজুন",
  results: "ফলাফল",
  actions: "কমান্ড",
  chats: "চ্যাট",
  messages: "মেসেজ",
  none: "কিছু পাওয়া যায়নি।",
  sidebar: "চ্যাটের তালিকা দেখান বা লুকান",
  search: "চ্যাটের তালিকায় খুঁজুন",
  preset: (name) => `প্রিসেট: ${name}`,
};
