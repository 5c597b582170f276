import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sv");

/** Swedish texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Meddelandet är för långt",
    text: (used, window) => `Med meddelandet skulle chatten ha ${used} tokens. Modellen läser färre än ${window}.`,
    farTooLong: (window) => `Med meddelandet är chatten mycket längre än de ${window} tokens som modellen läser.`,
    shorten: "Korta det, eller:",
    shortenAlone: "Korta det.",
    remove: (name) => `Ta bort ${name}`,
    leave: (messages) => plural(messages, { one: "Skicka utan det första meddelandet", other: `Skicka utan de första ${messages} meddelandena` }),
    summarize: (messages) => plural(messages, { one: "Sammanfatta det första meddelandet", other: `Sammanfatta de första ${messages} meddelandena` }),
    summarizing: "Modellen skriver sammanfattningen. Därefter skickas meddelandet.",
    leaveTitle: "De finns kvar i chatten, men modellen ser dem inte längre.",
    move: "Fråga i en ny chatt",
  },

  allSeen: "Härifrån ser modellen alla meddelanden igen.",
  leftOut: (messages) => plural(messages, { one: "Härifrån ser modellen inte längre det första meddelandet.", other: `Härifrån ser modellen inte längre de första ${messages} meddelandena.` }),

  summary: "Sammanfattning",
  summarized: (messages) => plural(messages, { one: "Härifrån ser modellen en sammanfattning av det första meddelandet.", other: `Härifrån ser modellen en sammanfattning av de första ${messages} meddelandena.` }),

  overflow: {
    server: "Meddelandet är för stort för servern, så det sparas bara i den här webbläsaren. Korta det eller utelämna en fil.",
    browser: "Meddelandet är för stort för att sparas tills du skickar det. Det försvinner om du stänger eller laddar om sidan.",
  },

  notRead: (name) => `${name} lästes inte.`,

  unreadable: {
    tooBig: (name) => `${name} innehåller mer än 512 KiB text. Bifoga den del som är viktig.`,
    tooBigPdf: (name) => `${name} är större än 32 MiB. Bifoga den del som är viktig.`,
    noText: (name) => `${name} är varken textfil, PDF, docx, xlsx, pptx eller epub. Modellen läser bara text: spara ett dokument i något av de formaten.`,
    old: (name) => `${name} har ett gammalt Office-format. Spara filen som docx, xlsx eller pptx och bifoga den.`,
    empty: (name) => `${name} innehåller ingen text. Bilder av text behöver textigenkänning först.`,
    tooCostly: (name) => `${name} kräver för mycket minne eller tid att läsa. Bifoga den del som är viktig.`,
    scanned: (name) => `${name} innehåller ingen text, bara skannade sidor. Kör textigenkänning på filen först.`,
    encrypted: (name) => `${name} är låst med ett lösenord. Spara en kopia utan lösenord och bifoga den.`,
    broken: (name) => `${name} är skadad och kan inte läsas. Spara eller ladda ner filen på nytt.`,
    gone: (name) => `${name} kan inte öppnas. Om det är en mapp, välj filerna i den. Välj annars filen på nytt.`,
  },
};
