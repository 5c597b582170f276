import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pl");

/** Polish texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Wiadomość jest za długa",
    text: (used, window) => `Z tą wiadomością czat miałby ${used} tokenów. Model czyta mniej niż ${window}.`,
    farTooLong: (window) => `Z tą wiadomością czat jest znacznie dłuższy niż ${window} tokenów, które czyta model.`,
    shorten: "Skróć ją lub:",
    shortenAlone: "Skróć ją.",
    remove: (name) => `Usuń ${name}`,
    leave: (messages) =>
      plural(messages, {
        one: "Wyślij bez pierwszej wiadomości",
        few: `Wyślij bez pierwszych ${messages} wiadomości`,
        other: `Wyślij bez pierwszych ${messages} wiadomości`,
      }),
    summarize: (messages) =>
      plural(messages, {
        one: "Streść pierwszą wiadomość",
        few: `Streść pierwsze ${messages} wiadomości`,
        other: `Streść pierwszych ${messages} wiadomości`,
      }),
    summarizing: "Model pisze streszczenie. Potem wiadomość zostanie wysłana.",
    leaveTitle: "Pozostaną w czacie, ale model nie będzie ich już widział.",
    move: "Zapytaj w nowym czacie",
  },

  allSeen: "Od tego miejsca model znów widzi wszystkie wiadomości.",
  leftOut: (messages) =>
    plural(messages, {
      one: "Od tego miejsca model nie widzi już pierwszej wiadomości.",
      few: `Od tego miejsca model nie widzi już pierwszych ${messages} wiadomości.`,
      other: `Od tego miejsca model nie widzi już pierwszych ${messages} wiadomości.`,
    }),

  summary: "Streszczenie",
  summarized: (messages) =>
    plural(messages, {
      one: "Od tego miejsca model widzi streszczenie pierwszej wiadomości.",
      few: `Od tego miejsca model widzi streszczenie pierwszych ${messages} wiadomości.`,
      other: `Od tego miejsca model widzi streszczenie pierwszych ${messages} wiadomości.`,
    }),

  overflow: {
    server: "Ta wiadomość jest za duża dla serwera, dlatego pozostaje tylko w tej przeglądarce. Skróć ją lub pomiń któryś plik.",
    browser: "Ta wiadomość jest za duża, aby przechować ją do wysłania. Przepadnie, gdy zamkniesz lub odświeżysz stronę.",
  },

  notRead: (name) => `Nie odczytano pliku ${name}.`,

  unreadable: {
    tooBig: (name) => `Plik ${name} zawiera ponad 512 KiB tekstu. Dołącz istotną część.`,
    tooBigPdf: (name) => `Plik ${name} jest większy niż 32 MiB. Dołącz istotną część.`,
    noText: (name) => `${name} nie jest plikiem tekstowym, PDF, docx, xlsx, pptx ani epub. Model czyta tylko tekst: dokument zapisz w jednym z tych formatów.`,
    old: (name) => `Plik ${name} jest w starym formacie biurowym. Zapisz go jako docx, xlsx lub pptx i dołącz.`,
    empty: (name) => `Plik ${name} nie zawiera tekstu. Obrazy tekstu wymagają najpierw rozpoznania tekstu.`,
    tooCostly: (name) => `Odczytanie pliku ${name} wymaga zbyt wiele pamięci lub czasu. Dołącz istotną część.`,
    scanned: (name) => `Plik ${name} nie zawiera tekstu, tylko zeskanowane strony. Najpierw rozpoznaj w nim tekst.`,
    encrypted: (name) => `Plik ${name} jest zabezpieczony hasłem. Zapisz kopię bez hasła i dołącz ją.`,
    broken: (name) => `Plik ${name} jest uszkodzony i nie można go odczytać. Zapisz lub pobierz go ponownie.`,
    gone: (name) => `Nie można otworzyć ${name}. Jeśli to folder, wybierz pliki w nim; w przeciwnym razie wybierz plik ponownie.`,
  },
};
