import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pl");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Wykorzystano wszystko oprócz ostatniego tokena. Ostatni jest zawsze obliczany.",
  never_seen: "O ile serwer wie, reszty jeszcze nigdy nie obliczono.",
  template_changed: "Prompt systemowy, szablon czatu lub tokenizer różni się od poprzedniego.",
  messages_left_out: "Od tej wiadomości prompt nie zawiera już pierwszych wiadomości czatu albo znów je zawiera.",
  evicted: "Resztę obliczono, ale została usunięta, aby zwolnić miejsce.",
  expired: "Resztę obliczono, ale zbyt długo nie była używana i wygasła.",
  computed_otherwise: "Resztę obliczono, ale w innej wersji Ebb, innym modelem lub innym sposobem obliczania.",
  rejected: "Resztę obliczono, ale jej dane są uszkodzone, należą do innego modelu lub nie zapisano ich kluczem tego serwera.",
  breaker_open: "Resztę obliczono, ale jeden z poziomów pamięci podręcznej nie odpowiada i jest tymczasowo pomijany.",
  not_worth_loading: "Resztę obliczono, ale ponowne obliczenie będzie prawdopodobnie szybsze.",
  not_brought: "Resztę obliczono, ale nie udało się jej wczytać: w pamięci CPU nie było miejsca lub kopiowanie na urządzenie się nie powiodło.",
  partial_block: "Resztę obliczono, ale nie wypełnia ona całego bloku. Na pewno zachowywane są tylko całe bloki.",
  off: "Serwer działa z --no-prefix-cache i niczego nie wykorzystuje ponownie.",
};

/** Polish texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `obliczono ${tokens}`,
  first: (tokens, total, from) => `${tokens} z ${total} tokenów z ${from}`,
  other: (tokens, from) => `${tokens} z ${from}`,
  firstToken: (time) => `pierwszy token po ${time}`,
  insteadOf: (time) => ` zamiast około ${time}`,
  speed: (tokens) => `${tokens} tokenów/s`,
  prompt: "Prompt",
  recomputed: "Obliczono",
  typed: (from) => `Wczytano z ${from} podczas pisania`,
  phases: {
    queue: "W kolejce",
    lookup: "Szukanie w pamięci podręcznej",
    load: "Wczytanie bloków",
    prefill: "Obliczenia",
  },
  timeToFirstToken: "Czas do pierwszego tokena",
  answer: "Odpowiedź",
  form: "Wymagany format",
  forms: { valid: "zachowany", invalid: "niezachowany", unchecked: "niesprawdzony" },
  rate: "Szybkość",
  total: "Razem",
  cost: "Koszt",
  why: "Dlaczego nie wykorzystano więcej?",
  looking: "Wczytywanie wyjaśnienia…",
  failed: "Nie udało się wczytać wyjaśnienia.",
  reusedAll: (until) => `Wykorzystano wszystkie tokeny z pamięci podręcznej (${until}), reszta jest nowa.`,
  reused: (until, reusable) => `Wykorzystano ${until} z ${reusable} tokenów z pamięci podręcznej.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Zaawansowane",
  leftOut: "Pominięte wiadomości",
  diverges: (at) => `Od tokena ${at} ten prompt się różni:`,
  goesOn: (at) => `Wszystko do tokena ${at} było w pamięci podręcznej. Potem było:`,
  here: "tutaj",
  before: "wcześniej",
  end: "(koniec)",
  verified: (count, text) =>
    plural(count, {
      one: "Sprawdzono jeden blok z niższego poziomu.",
      few: `Sprawdzono ${text} bloki z niższych poziomów.`,
      other: `Sprawdzono ${text} bloków z niższych poziomów.`,
    }),
  removedLines: (names) => `Pominięto, aby prompt systemowy się nie zmieniał: ${names}`,
  movedLines: (names) => `Przeniesiono do pierwszej wiadomości, aby prompt systemowy się nie zmieniał: ${names}`,

  promptLines: {
    "claude-code-billing-header": "nagłówek rozliczeń Claude Code",
    "claude-code-git-status": "stan Git z Claude Code",
    "todays-date": "dzisiejsza data",
    "current-date": "bieżąca data",
    "current-date-and-time": "bieżąca data i godzina",
    "goose-date": "data z goose",
    "kimi-cli-date": "data z Kimi CLI",
    "home-assistant-clock": "zegar Home Assistant",
    "session-id": "identyfikator sesji",
    "removed-lines": "wiersze z ustawienia removed-lines",
    "moved-lines": "wiersze z ustawienia moved-lines",
  },
};
