import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";

const plural = pluralsOf("es");

/** Reasons for which no more was reused. */
export const CAUSES: Causes = {
  complete: "Se reutilizó todo menos el último token, que siempre se calcula.",
  never_seen: "Hasta donde sabe el servidor, el resto no se había calculado nunca.",
  template_changed: "El prompt del sistema, la plantilla de chat o el tokenizador es distinto del de la vez anterior.",
  messages_left_out: "Desde este mensaje, el prompt ya no contiene los primeros mensajes del chat, o vuelve a contenerlos.",
  evicted: "El resto estaba calculado, pero fue expulsado de la caché.",
  expired: "El resto estaba calculado, pero llevaba demasiado tiempo sin usarse y caducó.",
  computed_otherwise: "El resto estaba calculado, pero con otra versión de Ebb, otro modelo u otra forma de calcular.",
  rejected: "El resto estaba calculado, pero sus datos están dañados, son de otro modelo o no se escribieron con la clave de este servidor.",
  breaker_open: "El resto estaba calculado, pero un nivel de la caché no responde y de momento no se usa.",
  not_worth_loading: "El resto estaba calculado, pero se espera que volver a calcularlo sea más rápido.",
  not_brought: "El resto estaba calculado, pero no se pudo cargar: no había sitio en la memoria de la CPU o falló la copia al dispositivo.",
  partial_block: "El resto estaba calculado, pero no llena un bloque entero. Solo los bloques enteros se conservan con seguridad.",
  off: "El servidor funciona con --no-prefix-cache y no reutiliza nada.",
};

/** Spanish texts for the details of a receipt. */
export const texts: ReceiptTexts = {
  computed: (tokens) => `${tokens} calculados`,
  first: (tokens, total, from) => `${tokens} de ${total} tokens desde ${from}`,
  other: (tokens, from) => `${tokens} desde ${from}`,
  firstToken: (time) => `primer token en ${time}`,
  insteadOf: (time) => ` en lugar de unos ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Calculados",
  typed: (from) => `Restaurados desde ${from} mientras escribías`,
  phases: {
    queue: "En cola",
    lookup: "Búsqueda en la caché",
    load: "Carga de bloques",
    prefill: "Cálculo",
  },
  timeToFirstToken: "Tiempo hasta el primer token",
  answer: "Respuesta",
  form: "Formato exigido",
  forms: { valid: "cumplido", invalid: "no cumplido", unchecked: "sin comprobar" },
  rate: "Velocidad",
  total: "Total",
  cost: "Coste",
  why: "¿Por qué no se reutilizó más?",
  looking: "Cargando la explicación…",
  failed: "No se ha podido cargar la explicación.",
  reusedAll: (until) => `Se reutilizaron los ${until} tokens que había en caché; el resto es nuevo.`,
  reused: (until, reusable) => `Se reutilizaron ${until} de ${reusable} tokens en caché.`,
  cause: (_said, cause) => CAUSES[cause] ?? "El registro del servidor indica el motivo.",
  advanced: "Avanzado",
  leftOut: "Mensajes omitidos",
  diverges: (at) => `A partir del token ${at}, este prompt es distinto:`,
  goesOn: (at) => `Todo estaba en caché hasta el token ${at}. Después venía:`,
  here: "aquí",
  before: "antes",
  end: "(fin)",
  verified: (count, text) => plural(count, { one: `Se verificó ${text} bloque de un nivel inferior.`, other: `Se verificaron ${text} bloques de niveles inferiores.` }),
  removedLines: (names) => `Omitido para mantener estable el prompt del sistema: ${names}`,
  movedLines: (names) => `Movido al primer mensaje para mantener estable el prompt del sistema: ${names}`,

  promptLines: {
    "claude-code-billing-header": "la cabecera de facturación de Claude Code",
    "claude-code-git-status": "el estado de Git de Claude Code",
    "todays-date": "la fecha de hoy",
    "current-date": "la fecha actual",
    "current-date-and-time": "la fecha y la hora",
    "goose-date": "la fecha de goose",
    "kimi-cli-date": "la fecha de Kimi CLI",
    "home-assistant-clock": "el reloj de Home Assistant",
    "session-id": "el identificador de la sesión",
    "removed-lines": "las líneas del ajuste removed-lines",
    "moved-lines": "las líneas del ajuste moved-lines",
  },
};
