import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ca");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "S’ha reutilitzat tot menys l’últim token, que sempre es calcula.",
  never_seen: "Pel que sap el servidor, la resta no s’havia calculat mai.",
  template_changed: "La indicació del sistema, la plantilla de xat o el tokenitzador són diferents dels de la vegada anterior.",
  messages_left_out: "Des d’aquest missatge, la indicació ja no conté els primers missatges del xat, o els torna a contenir.",
  evicted: "La resta estava calculada, però s’ha expulsat de la memòria cau.",
  expired: "La resta estava calculada, però ha passat massa temps sense fer-se servir i ha caducat.",
  computed_otherwise: "La resta estava calculada, però amb una altra versió d’Ebb, un altre model o una altra manera de calcular.",
  rejected: "La resta estava calculada, però les dades estan malmeses, són d’un altre model o no es van escriure amb la clau d’aquest servidor.",
  breaker_open: "La resta estava calculada, però un nivell de la memòria cau no respon i ara mateix no es fa servir.",
  not_worth_loading: "La resta estava calculada, però tornar-la a calcular hauria de ser més ràpid.",
  not_brought: "La resta estava calculada, però no s’ha pogut carregar: no hi havia espai a la memòria de la CPU o la còpia al dispositiu ha fallat.",
  partial_block: "La resta estava calculada, però no omple un bloc sencer. Només els blocs sencers es conserven amb seguretat.",
  off: "El servidor s’executa amb --no-prefix-cache i no reutilitza res.",
};

/** Catalan texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} calculats`,
  first: (tokens, total, from) => `${tokens} de ${total} tokens (${from})`,
  other: (tokens, from) => `${tokens} (${from})`,
  firstToken: (time) => `primer token en ${time}`,
  insteadOf: (time) => ` en lloc d’uns ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Indicació",
  recomputed: "Calculats",
  typed: (from) => `Restaurats mentre escrivies (${from})`,
  phases: {
    queue: "A la cua",
    lookup: "Consulta de la memòria cau",
    load: "Càrrega dels blocs",
    prefill: "Càlcul",
  },
  timeToFirstToken: "Temps fins al primer token",
  answer: "Resposta",
  form: "Format exigit",
  forms: { valid: "respectat", invalid: "no respectat", unchecked: "no comprovat" },
  rate: "Velocitat",
  total: "Total",
  cost: "Cost",
  why: "Per què no s’ha reutilitzat més?",
  looking: "S’està carregant l’explicació…",
  failed: "No s’ha pogut carregar l’explicació.",
  reusedAll: (until) => `S’han reutilitzat tots els ${until} tokens de la memòria cau; la resta és nova.`,
  reused: (until, reusable) => `S’han reutilitzat ${until} de ${reusable} tokens de la memòria cau.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Avançat",
  leftOut: "Missatges omesos",
  diverges: (at) => `Al token ${at}, aquesta indicació comença a ser diferent:`,
  goesOn: (at) => `Tot fins al token ${at} era a la memòria cau. Després venia:`,
  here: "aquí",
  before: "abans",
  end: "(fi)",
  verified: (count, text) =>
    plural(count, {
      one: `S’ha verificat ${text} bloc d’un nivell inferior.`,
      other: `S’han verificat ${text} blocs de nivells inferiors.`,
    }),
  removedLines: (names) => `S’ha omès per mantenir estable la indicació del sistema: ${names}`,
  movedLines: (names) => `S’ha mogut al primer missatge per mantenir estable la indicació del sistema: ${names}`,

  promptLines: {
    "claude-code-billing-header": "la capçalera de facturació de Claude Code",
    "claude-code-git-status": "l’estat de Git de Claude Code",
    "todays-date": "la data d’avui",
    "current-date": "la data actual",
    "current-date-and-time": "la data i l’hora",
    "goose-date": "la data de goose",
    "kimi-cli-date": "la data de Kimi CLI",
    "home-assistant-clock": "el rellotge de Home Assistant",
    "session-id": "l’identificador de la sessió",
    "removed-lines": "les línies de l’opció removed-lines",
    "moved-lines": "les línies de l’opció moved-lines",
  },
};
