import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("et");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Taaskasutati kõike peale viimase tokeni. Viimane arvutatakse alati.",
  never_seen: "Serverile teadaolevalt pole ülejäänut kunagi arvutatud.",
  template_changed: "Süsteemiviip, vestluse mall või tokeniseerija erineb eelmisest korrast.",
  messages_left_out: "Sellest sõnumist alates ei sisalda viip enam vestluse esimesi sõnumeid või sisaldab neid taas.",
  evicted: "Ülejäänu oli arvutatud, kuid tõrjuti vahemälust välja.",
  expired: "Ülejäänu oli arvutatud, kuid seisis liiga kaua kasutamata ja aegus.",
  computed_otherwise: "Ülejäänu oli arvutatud, kuid Ebbi teise versiooni, teise mudeli või teise arvutusviisiga.",
  rejected: "Ülejäänu oli arvutatud, kuid selle andmed on kahjustatud, kuuluvad teisele mudelile või pole kirjutatud selle serveri võtmega.",
  breaker_open: "Ülejäänu oli arvutatud, kuid üks vahemälu tase ei vasta ja jäetakse ajutiselt vahele.",
  not_worth_loading: "Ülejäänu oli arvutatud, kuid uuesti arvutamine on eeldatavasti kiirem.",
  not_brought: "Ülejäänu oli arvutatud, kuid seda ei saanud laadida: CPU mälus polnud ruumi või seadmesse kopeerimine ebaõnnestus.",
  partial_block: "Ülejäänu oli arvutatud, kuid ei täida tervet plokki. Kindlasti säilivad ainult terved plokid.",
  off: "Server töötab valikuga --no-prefix-cache ega taaskasuta midagi.",
};

/** Estonian texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} arvutatud`,
  first: (tokens, total, from) => `${total} tokenist ${tokens} ${from}`,
  other: (tokens, from) => `${tokens} ${from}`,
  firstToken: (time) => `esimene token ${time}`,
  insteadOf: (time) => ` umbes ${time} asemel`,
  speed: (tokens) => `${tokens} tokenit/s`,
  prompt: "Viip",
  recomputed: "Arvutatud",
  typed: (from) => `Tippimise ajal laaditud ${from}`,
  phases: {
    queue: "Järjekorras",
    lookup: "Otsing vahemälust",
    load: "Plokkide laadimine",
    prefill: "Arvutamine",
  },
  timeToFirstToken: "Aeg esimese tokenini",
  answer: "Vastus",
  form: "Nõutud vorm",
  forms: { valid: "järgitud", invalid: "järgimata", unchecked: "kontrollimata" },
  rate: "Kiirus",
  total: "Kokku",
  cost: "Maksumus",
  why: "Miks rohkem ei taaskasutatud?",
  looking: "Selgituse laadimine…",
  failed: "Selgitust ei saanud laadida.",
  reusedAll: (until) => `Kõik vahemälus olnud tokenid (${until}) taaskasutati, ülejäänu on uus.`,
  reused: (until, reusable) => `Vahemälus olnud ${reusable} tokenist taaskasutati ${until}.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Täpsemalt",
  leftOut: "Välja jäetud sõnumid",
  diverges: (at) => `Alates tokenist ${at} see viip erineb:`,
  goesOn: (at) => `Kõik kuni tokenini ${at} oli vahemälus. Edasi tuli:`,
  here: "siin",
  before: "varem",
  end: "(lõpp)",
  verified: (count, text) => plural(count, { one: "Kontrolliti ühte plokki madalamalt tasemelt.", other: `Kontrolliti ${text} plokki madalamatelt tasemetelt.` }),
  removedLines: (names) => `Välja jäetud, et süsteemiviip püsiks muutumatuna: ${names}`,
  movedLines: (names) => `Esimesse sõnumisse tõstetud, et süsteemiviip püsiks muutumatuna: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Code’i arveldusrida",
    "claude-code-git-status": "Claude Code’i Giti olek",
    "todays-date": "tänane kuupäev",
    "current-date": "praegune kuupäev",
    "current-date-and-time": "praegune kuupäev ja kellaaeg",
    "goose-date": "goose’i kuupäev",
    "kimi-cli-date": "Kimi CLI kuupäev",
    "home-assistant-clock": "Home Assistanti kell",
    "session-id": "seansi ID",
    "removed-lines": "seade removed-lines read",
    "moved-lines": "seade moved-lines read",
  },
};
