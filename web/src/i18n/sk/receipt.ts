import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sk");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Využilo sa všetko okrem posledného tokenu. Ten sa počíta vždy.",
  never_seen: "Pokiaľ server vie, zvyšok ešte nikdy nebol vypočítaný.",
  template_changed: "Systémový prompt, šablóna chatu alebo tokenizér sa od minula líši.",
  messages_left_out: "Od tejto správy prompt už neobsahuje prvé správy chatu alebo ich znova obsahuje.",
  evicted: "Zvyšok bol vypočítaný, ale z vyrovnávacej pamäte bol vytlačený.",
  expired: "Zvyšok bol vypočítaný, ale príliš dlho sa nepoužíval a jeho platnosť uplynula.",
  computed_otherwise: "Zvyšok bol vypočítaný, ale inou verziou Ebb, iným modelom alebo iným spôsobom výpočtu.",
  rejected: "Zvyšok bol vypočítaný, ale jeho dáta sú poškodené, patria inému modelu alebo neboli zapísané kľúčom tohto servera.",
  breaker_open: "Zvyšok bol vypočítaný, ale jedna z úrovní vyrovnávacej pamäte neodpovedá a dočasne sa vynecháva.",
  not_worth_loading: "Zvyšok bol vypočítaný, ale vypočítať ho znova bude pravdepodobne rýchlejšie.",
  not_brought: "Zvyšok bol vypočítaný, ale nepodarilo sa ho načítať: v pamäti CPU nebolo miesto alebo zlyhalo kopírovanie do zariadenia.",
  partial_block: "Zvyšok bol vypočítaný, ale nezaplní celý blok. Zaručene sa uchovávajú iba celé bloky.",
  off: "Server beží s --no-prefix-cache a nič znova nevyužíva.",
};

/** Slovak texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `vypočítané: ${tokens}`,
  first: (tokens, total, from) => `${tokens} z ${total} tokenov z ${from}`,
  other: (tokens, from) => `${tokens} z ${from}`,
  firstToken: (time) => `prvý token za ${time}`,
  insteadOf: (time) => ` namiesto približne ${time}`,
  speed: (tokens) => `${tokens} tokenov/s`,
  prompt: "Prompt",
  recomputed: "Vypočítané",
  typed: (from) => `Načítané z ${from} počas písania`,
  phases: {
    queue: "Vo fronte",
    lookup: "Hľadanie vo vyrovnávacej pamäti",
    load: "Načítanie blokov",
    prefill: "Výpočet",
  },
  timeToFirstToken: "Čas do prvého tokenu",
  answer: "Odpoveď",
  form: "Požadovaný formát",
  forms: { valid: "dodržaný", invalid: "nedodržaný", unchecked: "neoverený" },
  rate: "Rýchlosť",
  total: "Spolu",
  cost: "Cena",
  why: "Prečo sa nevyužilo viac?",
  looking: "Načítava sa vysvetlenie…",
  failed: "Vysvetlenie sa nepodarilo načítať.",
  reusedAll: (until) => `Využili sa všetky tokeny z vyrovnávacej pamäte (${until}), zvyšok je nový.`,
  reused: (until, reusable) => `Využilo sa ${until} z ${reusable} tokenov vo vyrovnávacej pamäti.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Pokročilé",
  leftOut: "Vynechané správy",
  diverges: (at) => `Od tokenu ${at} sa tento prompt líši:`,
  goesOn: (at) => `Všetko až po token ${at} bolo vo vyrovnávacej pamäti. Potom nasledovalo:`,
  here: "tu",
  before: "predtým",
  end: "(koniec)",
  verified: (count, text) =>
    plural(count, {
      one: "Bol overený jeden blok z nižšej úrovne.",
      few: `Boli overené ${text} bloky z nižších úrovní.`,
      other: `Bolo overených ${text} blokov z nižších úrovní.`,
    }),
  removedLines: (names) => `Vynechané, aby sa systémový prompt nemenil: ${names}`,
  movedLines: (names) => `Presunuté do prvej správy, aby sa systémový prompt nemenil: ${names}`,

  promptLines: {
    "claude-code-billing-header": "fakturačná hlavička Claude Code",
    "claude-code-git-status": "stav Gitu z Claude Code",
    "todays-date": "dnešný dátum",
    "current-date": "aktuálny dátum",
    "current-date-and-time": "aktuálny dátum a čas",
    "goose-date": "dátum z goose",
    "kimi-cli-date": "dátum z Kimi CLI",
    "home-assistant-clock": "hodiny Home Assistant",
    "session-id": "ID relácie",
    "removed-lines": "riadky z nastavenia removed-lines",
    "moved-lines": "riadky z nastavenia moved-lines",
  },
};
