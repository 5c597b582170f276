import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sl");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Znova je bilo uporabljeno vse razen zadnjega žetona. Ta se vedno izračuna.",
  never_seen: "Kolikor strežnik ve, preostanek še nikoli ni bil izračunan.",
  template_changed: "Sistemski poziv, predloga klepeta ali tokenizator se razlikuje od prejšnjega.",
  messages_left_out: "Od tega sporočila poziv ne vsebuje več prvih sporočil klepeta ali pa jih znova vsebuje.",
  evicted: "Preostanek je bil izračunan, vendar je bil izrinjen iz predpomnilnika.",
  expired: "Preostanek je bil izračunan, vendar predolgo ni bil uporabljen in je potekel.",
  computed_otherwise: "Preostanek je bil izračunan, vendar z drugo različico Ebb, drugim modelom ali drugim načinom računanja.",
  rejected: "Preostanek je bil izračunan, vendar so njegovi podatki poškodovani, pripadajo drugemu modelu ali niso zapisani s ključem tega strežnika.",
  breaker_open: "Preostanek je bil izračunan, vendar se ena od ravni predpomnilnika ne odziva in se začasno izpušča.",
  not_worth_loading: "Preostanek je bil izračunan, vendar bo ponovni izračun verjetno hitrejši.",
  not_brought: "Preostanek je bil izračunan, vendar ga ni bilo mogoče naložiti: v pomnilniku CPU ni bilo prostora ali pa kopiranje v napravo ni uspelo.",
  partial_block: "Preostanek je bil izračunan, vendar ne zapolni celega bloka. Zagotovo se ohranijo le celi bloki.",
  off: "Strežnik se izvaja z --no-prefix-cache in ničesar ne uporabi znova.",
};

/** Slovenian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `izračunano: ${tokens}`,
  first: (tokens, total, from) => `${tokens} od ${total} žetonov iz ${from}`,
  other: (tokens, from) => `${tokens} iz ${from}`,
  firstToken: (time) => `prvi žeton po ${time}`,
  insteadOf: (time) => ` namesto približno ${time}`,
  speed: (tokens) => `${tokens} žetonov/s`,
  prompt: "Poziv",
  recomputed: "Izračunano",
  typed: (from) => `Naloženo iz ${from} med tipkanjem`,
  phases: {
    queue: "V čakalni vrsti",
    lookup: "Iskanje v predpomnilniku",
    load: "Nalaganje blokov",
    prefill: "Izračun",
  },
  timeToFirstToken: "Čas do prvega žetona",
  answer: "Odgovor",
  form: "Zahtevana oblika",
  forms: { valid: "upoštevana", invalid: "neupoštevana", unchecked: "nepreverjena" },
  rate: "Hitrost",
  total: "Skupaj",
  cost: "Cena",
  why: "Zakaj ni bilo znova uporabljeno več?",
  looking: "Nalaganje razlage…",
  failed: "Razlage ni bilo mogoče naložiti.",
  reusedAll: (until) => `Uporabljeni so bili vsi žetoni iz predpomnilnika (${until}), preostanek je nov.`,
  reused: (until, reusable) => `Uporabljenih je bilo ${until} od ${reusable} žetonov v predpomnilniku.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Napredno",
  leftOut: "Izpuščena sporočila",
  diverges: (at) => `Od žetona ${at} se ta poziv razlikuje:`,
  goesOn: (at) => `Vse do žetona ${at} je bilo v predpomnilniku. Nato je sledilo:`,
  here: "tukaj",
  before: "prej",
  end: "(konec)",
  verified: (count, text) =>
    plural(count, {
      one: `Preverjen je bil ${text} blok z nižje ravni.`,
      two: `Preverjena sta bila ${text} bloka z nižjih ravni.`,
      few: `Preverjeni so bili ${text} bloki z nižjih ravni.`,
      other: `Preverjenih je bilo ${text} blokov z nižjih ravni.`,
    }),
  removedLines: (names) => `Izpuščeno, da se sistemski poziv ne spreminja: ${names}`,
  movedLines: (names) => `Premaknjeno v prvo sporočilo, da se sistemski poziv ne spreminja: ${names}`,

  promptLines: {
    "claude-code-billing-header": "glava za obračun Claude Code",
    "claude-code-git-status": "stanje Git iz Claude Code",
    "todays-date": "današnji datum",
    "current-date": "trenutni datum",
    "current-date-and-time": "trenutni datum in ura",
    "goose-date": "datum iz goose",
    "kimi-cli-date": "datum iz Kimi CLI",
    "home-assistant-clock": "ura Home Assistant",
    "session-id": "ID seje",
    "removed-lines": "vrstice iz nastavitve removed-lines",
    "moved-lines": "vrstice iz nastavitve moved-lines",
  },
};
