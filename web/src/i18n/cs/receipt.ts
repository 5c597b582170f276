import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("cs");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Využilo se vše kromě posledního tokenu. Ten se počítá vždy.",
  never_seen: "Pokud je serveru známo, zbytek ještě nikdy nebyl vypočten.",
  template_changed: "Systémový prompt, šablona chatu nebo tokenizér se od minule liší.",
  messages_left_out: "Od této zprávy prompt už neobsahuje první zprávy chatu, nebo je znovu obsahuje.",
  evicted: "Zbytek byl vypočten, ale byl z mezipaměti vytlačen.",
  expired: "Zbytek byl vypočten, ale příliš dlouho se nepoužíval a jeho platnost vypršela.",
  computed_otherwise: "Zbytek byl vypočten, ale jinou verzí Ebb, jiným modelem nebo jiným způsobem výpočtu.",
  rejected: "Zbytek byl vypočten, ale jeho data jsou poškozená, patří jinému modelu nebo nebyla zapsána klíčem tohoto serveru.",
  breaker_open: "Zbytek byl vypočten, ale jedna z úrovní mezipaměti neodpovídá a dočasně se vynechává.",
  not_worth_loading: "Zbytek byl vypočten, ale vypočítat ho znovu bude pravděpodobně rychlejší.",
  not_brought: "Zbytek byl vypočten, ale nepodařilo se ho načíst: v paměti CPU nebylo místo nebo selhalo kopírování do zařízení.",
  partial_block: "Zbytek byl vypočten, ale nezaplní celý blok. Zaručeně se uchovávají jen celé bloky.",
  off: "Server běží s --no-prefix-cache a nic znovu nevyužívá.",
};

/** Czech texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `vypočteno: ${tokens}`,
  first: (tokens, total, from) => `${tokens} z ${total} tokenů z ${from}`,
  other: (tokens, from) => `${tokens} z ${from}`,
  firstToken: (time) => `první token za ${time}`,
  insteadOf: (time) => ` místo přibližně ${time}`,
  speed: (tokens) => `${tokens} tokenů/s`,
  prompt: "Prompt",
  recomputed: "Vypočteno",
  typed: (from) => `Načteno z ${from} během psaní`,
  phases: {
    queue: "Ve frontě",
    lookup: "Hledání v mezipaměti",
    load: "Načtení bloků",
    prefill: "Výpočet",
  },
  timeToFirstToken: "Doba do prvního tokenu",
  answer: "Odpověď",
  form: "Požadovaný formát",
  forms: { valid: "dodržen", invalid: "nedodržen", unchecked: "neověřen" },
  rate: "Rychlost",
  total: "Celkem",
  cost: "Cena",
  why: "Proč se nevyužilo víc?",
  looking: "Načítá se vysvětlení…",
  failed: "Vysvětlení se nepodařilo načíst.",
  reusedAll: (until) => `Využily se všechny tokeny z mezipaměti (${until}), zbytek je nový.`,
  reused: (until, reusable) => `Využilo se ${until} z ${reusable} tokenů v mezipaměti.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Pokročilé",
  leftOut: "Vynechané zprávy",
  diverges: (at) => `Od tokenu ${at} se tento prompt liší:`,
  goesOn: (at) => `Vše až po token ${at} bylo v mezipaměti. Pak následovalo:`,
  here: "zde",
  before: "předtím",
  end: "(konec)",
  verified: (count, text) =>
    plural(count, {
      one: "Byl ověřen jeden blok z nižší úrovně.",
      few: `Byly ověřeny ${text} bloky z nižších úrovní.`,
      other: `Bylo ověřeno ${text} bloků z nižších úrovní.`,
    }),
  removedLines: (names) => `Vynecháno, aby se systémový prompt neměnil: ${names}`,
  movedLines: (names) => `Přesunuto do první zprávy, aby se systémový prompt neměnil: ${names}`,

  promptLines: {
    "claude-code-billing-header": "fakturační hlavička Claude Code",
    "claude-code-git-status": "stav Gitu z Claude Code",
    "todays-date": "dnešní datum",
    "current-date": "aktuální datum",
    "current-date-and-time": "aktuální datum a čas",
    "goose-date": "datum z goose",
    "kimi-cli-date": "datum z Kimi CLI",
    "home-assistant-clock": "hodiny Home Assistant",
    "session-id": "ID relace",
    "removed-lines": "řádky z nastavení removed-lines",
    "moved-lines": "řádky z nastavení moved-lines",
  },
};
