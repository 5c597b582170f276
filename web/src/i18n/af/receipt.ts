import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("af");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Alles behalwe die laaste token is hergebruik. Die laaste een word altyd bereken.",
  never_seen: "Sover die bediener weet, is die res nog nooit bereken nie.",
  template_changed: "Die stelselprompt, die kletssjabloon of die tokeniseerder verskil van die vorige keer.",
  messages_left_out: "Sedert hierdie boodskap bevat die prompt nie meer die klets se eerste boodskappe nie, of bevat dit hulle weer.",
  evicted: "Die res was bereken, maar is uit die kasgeheue verdring.",
  expired: "Die res was bereken, maar is te lank nie gebruik nie en het verval.",
  computed_otherwise: "Die res was bereken, maar met ’n ander weergawe van Ebb, ’n ander model of ’n ander berekeningsmanier.",
  rejected: "Die res was bereken, maar die data is beskadig, behoort aan ’n ander model of is nie met hierdie bediener se sleutel geskryf nie.",
  breaker_open: "Die res was bereken, maar ’n vlak van die kasgeheue reageer nie en word tans nie gebruik nie.",
  not_worth_loading: "Die res was bereken, maar om dit weer te bereken, is waarskynlik vinniger.",
  not_brought: "Die res was bereken, maar kon nie gelaai word nie: daar was nie plek in CPU-geheue nie, of die kopiëring na die toestel het misluk.",
  partial_block: "Die res was bereken, maar vul nie ’n volle blok nie. Net volle blokke word met sekerheid bewaar.",
  off: "Die bediener loop met --no-prefix-cache en hergebruik niks nie.",
};

/** Afrikaans texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} bereken`,
  first: (tokens, total, from) => `${tokens} van ${total} tokens uit ${from}`,
  other: (tokens, from) => `${tokens} uit ${from}`,
  firstToken: (time) => `eerste token ná ${time}`,
  insteadOf: (time) => ` in plaas van ongeveer ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Bereken",
  typed: (from) => `Herstel uit ${from} terwyl jy getik het`,
  phases: {
    queue: "In die tou",
    lookup: "Soek in die kasgeheue",
    load: "Blokke gelaai",
    prefill: "Bereken",
  },
  timeToFirstToken: "Tyd tot eerste token",
  answer: "Antwoord",
  form: "Vereiste vorm",
  forms: { valid: "nagekom", invalid: "nie nagekom nie", unchecked: "nie nagegaan nie" },
  rate: "Spoed",
  total: "Totaal",
  cost: "Koste",
  why: "Hoekom is nie meer hergebruik nie?",
  looking: "Die verduideliking word gelaai…",
  failed: "Die verduideliking kon nie gelaai word nie.",
  reusedAll: (until) => `Al ${until} tokens in die kasgeheue is hergebruik; die res is nuut.`,
  reused: (until, reusable) => `${until} van ${reusable} tokens in die kasgeheue is hergebruik.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Gevorderd",
  leftOut: "Weggelate boodskappe",
  diverges: (at) => `By token ${at} begin hierdie prompt verskil:`,
  goesOn: (at) => `Alles tot by token ${at} was in die kasgeheue. Toe kom:`,
  here: "hier",
  before: "vroeër",
  end: "(einde)",
  verified: (count, text) =>
    plural(count, {
      one: "Een blok uit ’n laer vlak is geverifieer.",
      other: `${text} blokke uit laer vlakke is geverifieer.`,
    }),
  removedLines: (names) => `Weggelaat, om die stelselprompt stabiel te hou: ${names}`,
  movedLines: (names) => `Na die eerste boodskap geskuif, om die stelselprompt stabiel te hou: ${names}`,

  promptLines: {
    "claude-code-billing-header": "Claude Code se faktureringskop",
    "claude-code-git-status": "Claude Code se Git-status",
    "todays-date": "vandag se datum",
    "current-date": "die huidige datum",
    "current-date-and-time": "die huidige datum en tyd",
    "goose-date": "goose se datum",
    "kimi-cli-date": "Kimi CLI se datum",
    "home-assistant-clock": "Home Assistant se horlosie",
    "session-id": "die sessie-ID",
    "removed-lines": "reëls van die instelling removed-lines",
    "moved-lines": "reëls van die instelling moved-lines",
  },
};
