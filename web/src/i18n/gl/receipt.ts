import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("gl");

/** Reasons for which no more was reused. */
export const CAUSES: Partial<Causes> = {
  complete: "Reutilizouse todo agás o último token, que sempre se calcula.",
  never_seen: "Polo que sabe o servidor, o resto non se calculara nunca.",
  template_changed: "O prompt do sistema, o formato de chat ou o tokenizador son diferentes dos da vez anterior.",
  messages_left_out: "Desde esta mensaxe, o prompt xa non contén as primeiras mensaxes do chat, ou volve contelas.",
  evicted: "O resto estaba calculado, pero foi expulsado da caché.",
  expired: "O resto estaba calculado, pero pasou demasiado tempo sen usarse e caducou.",
  computed_otherwise: "O resto estaba calculado, pero con outra versión de Ebb, outro modelo ou outra forma de calcular.",
  rejected: "O resto estaba calculado, pero os datos están danados, son doutro modelo ou non se escribiron coa clave deste servidor.",
  breaker_open: "O resto estaba calculado, pero un nivel da caché non responde e agora mesmo non se usa.",
  not_worth_loading: "O resto estaba calculado, pero calculalo de novo debería ser máis rápido.",
  not_brought: "O resto estaba calculado, pero non se puido cargar: non había espazo na memoria da CPU ou fallou a copia ao dispositivo.",
  partial_block: "O resto estaba calculado, pero non enche un bloque enteiro. Só os bloques enteiros se conservan con seguridade.",
  off: "O servidor execútase con --no-prefix-cache e non reutiliza nada.",
};

/** Galician texts for the details of a receipt. */
export const texts: PartialTexts<ReceiptTexts> = {
  computed: (tokens) => `${tokens} calculados`,
  first: (tokens, total, from) => `${tokens} de ${total} tokens desde ${from}`,
  other: (tokens, from) => `${tokens} desde ${from}`,
  firstToken: (time) => `primeiro token en ${time}`,
  insteadOf: (time) => ` no canto duns ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Calculados",
  typed: (from) => `Restaurados desde ${from} mentres escribías`,
  phases: {
    queue: "Na cola",
    lookup: "Consulta da caché",
    load: "Carga dos bloques",
    prefill: "Cálculo",
  },
  timeToFirstToken: "Tempo ata o primeiro token",
  answer: "Resposta",
  form: "Formato esixido",
  forms: { valid: "cumprido", invalid: "non cumprido", unchecked: "sen comprobar" },
  rate: "Velocidade",
  total: "Total",
  cost: "Custo",
  why: "Por que non se reutilizou máis?",
  looking: "Cargando a explicación…",
  failed: "Non se puido cargar a explicación.",
  reusedAll: (until) => `Reutilizáronse todos os ${until} tokens en caché; o resto é novo.`,
  reused: (until, reusable) => `Reutilizáronse ${until} de ${reusable} tokens en caché.`,
  cause: (said, cause) => CAUSES[cause] ?? said,
  advanced: "Avanzado",
  leftOut: "Mensaxes omitidas",
  diverges: (at) => `No token ${at}, este prompt comeza a ser diferente:`,
  goesOn: (at) => `Todo ata o token ${at} estaba en caché. Despois viña:`,
  here: "aquí",
  before: "antes",
  end: "(fin)",
  verified: (count, text) =>
    plural(count, {
      one: `Verificouse ${text} bloque dun nivel inferior.`,
      other: `Verificáronse ${text} bloques de niveis inferiores.`,
    }),
  removedLines: (names) => `Omitido para manter estable o prompt do sistema: ${names}`,
  movedLines: (names) => `Movido á primeira mensaxe para manter estable o prompt do sistema: ${names}`,

  promptLines: {
    "claude-code-billing-header": "a cabeceira de facturación de Claude Code",
    "claude-code-git-status": "o estado de Git de Claude Code",
    "todays-date": "a data de hoxe",
    "current-date": "a data actual",
    "current-date-and-time": "a data e a hora",
    "goose-date": "a data de goose",
    "kimi-cli-date": "a data de Kimi CLI",
    "home-assistant-clock": "o reloxo de Home Assistant",
    "session-id": "o identificador da sesión",
    "removed-lines": "as liñas do axuste removed-lines",
    "moved-lines": "as liñas do axuste moved-lines",
  },
};
