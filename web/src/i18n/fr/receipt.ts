import { pluralsOf } from "../plurals";
import type { Causes, ReceiptTexts } from "../en/receipt";

const plural = pluralsOf("fr");

/** Reasons for which no more was reused. */
export const CAUSES: Causes = {
  complete: "Tout a été réutilisé sauf le dernier token, qui est toujours calculé.",
  never_seen: "Pour autant que le serveur le sache, la suite n’avait jamais été calculée.",
  template_changed: "Le prompt système, le gabarit de conversation ou le tokeniseur diffère de celui de la fois précédente.",
  messages_left_out: "Depuis ce message, le prompt ne contient plus les premiers messages de la conversation, ou les contient de nouveau.",
  evicted: "La suite avait été calculée, mais elle a été évincée du cache.",
  expired: "La suite avait été calculée, mais elle a expiré faute d’utilisation.",
  computed_otherwise: "La suite avait été calculée, mais avec une autre version d’Ebb, un autre modèle ou un autre mode de calcul.",
  rejected: "La suite avait été calculée, mais ses données sont endommagées, appartiennent à un autre modèle ou n’ont pas été écrites avec la clé de ce serveur.",
  breaker_open: "La suite avait été calculée, mais un niveau du cache ne répond pas et n’est pas utilisé pour l’instant.",
  not_worth_loading: "La suite avait été calculée, mais la recalculer devrait être plus rapide.",
  not_brought: "La suite avait été calculée, mais n’a pas pu être chargée : il n’y avait pas de place dans la mémoire du CPU, ou la copie vers l’accélérateur a échoué.",
  partial_block: "La suite avait été calculée, mais ne remplit pas un bloc entier. Seuls les blocs entiers sont conservés à coup sûr.",
  off: "Le serveur fonctionne avec --no-prefix-cache et ne réutilise rien.",
};

/** French texts for the details of a receipt. */
export const texts: ReceiptTexts = {
  computed: (tokens) => `${tokens} calculés`,
  first: (tokens, total, from) => `${tokens} tokens sur ${total} depuis ${from}`,
  other: (tokens, from) => `${tokens} depuis ${from}`,
  firstToken: (time) => `premier token en ${time}`,
  insteadOf: (time) => ` au lieu d’environ ${time}`,
  speed: (tokens) => `${tokens} tokens/s`,
  prompt: "Prompt",
  recomputed: "Calculés",
  typed: (from) => `Restaurés depuis ${from} pendant votre saisie`,
  phases: {
    queue: "File d’attente",
    lookup: "Recherche dans le cache",
    load: "Chargement des blocs",
    prefill: "Calcul",
  },
  timeToFirstToken: "Délai du premier token",
  answer: "Réponse",
  form: "Format exigé",
  forms: { valid: "respecté", invalid: "non respecté", unchecked: "non vérifié" },
  rate: "Vitesse",
  total: "Total",
  cost: "Coût",
  why: "Pourquoi n’a-t-on pas réutilisé davantage ?",
  looking: "Chargement de l’explication…",
  failed: "L’explication n’a pas pu être chargée.",
  reusedAll: (until) => `Les ${until} tokens en cache ont tous été réutilisés ; le reste est nouveau.`,
  reused: (until, reusable) => `${until} tokens en cache sur ${reusable} ont été réutilisés.`,
  cause: (_said, cause) => CAUSES[cause] ?? "Le journal du serveur en donne la raison.",
  advanced: "Avancé",
  leftOut: "Messages laissés de côté",
  diverges: (at) => `À partir du token ${at}, ce prompt diverge :`,
  goesOn: (at) => `Tout était en cache jusqu’au token ${at}. Puis est venu :`,
  here: "ici",
  before: "avant",
  end: "(fin)",
  verified: (count, text) => plural(count, { one: `${text} bloc d’un niveau inférieur a été vérifié.`, other: `${text} blocs de niveaux inférieurs ont été vérifiés.` }),
  removedLines: (names) => `Retiré pour que le prompt système reste stable : ${names}`,
  movedLines: (names) => `Déplacé dans le premier message pour que le prompt système reste stable : ${names}`,

  promptLines: {
    "claude-code-billing-header": "l’en-tête de facturation de Claude Code",
    "claude-code-git-status": "l’état Git de Claude Code",
    "todays-date": "la date du jour",
    "current-date": "la date actuelle",
    "current-date-and-time": "la date et l’heure",
    "goose-date": "la date de goose",
    "kimi-cli-date": "la date de Kimi CLI",
    "home-assistant-clock": "l’horloge de Home Assistant",
    "session-id": "l’identifiant de la session",
    "removed-lines": "les lignes du réglage removed-lines",
    "moved-lines": "les lignes du réglage moved-lines",
  },
};
