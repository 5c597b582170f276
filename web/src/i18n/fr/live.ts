import { pluralsOf } from "../plurals";
import type { LiveTexts, TierState } from "../en/live";

const plural = pluralsOf("fr");

/** States of a tier. */
const STATES: Record<TierState, string> = {
  off: "Désactivé.",
  full: "Plein : n’accepte plus de blocs pour l’instant.",
  unused: "Ne répond pas correctement et n’est pas utilisé pour l’instant.",
  refusing: "Refuse les écritures. Ses blocs restent lisibles.",
  slow: "Lent : des blocs attendent d’être écrits.",
  other: "En défaut. Le journal du serveur en dit plus.",
};

/** French texts for the view of live numbers. */
export const texts: LiveTexts = {
  lead: "Ce que fait tout le serveur, seconde par seconde. Les graphiques couvrent jusqu’à cinq minutes.",
  states: {
    connecting: "Connexion…",
    live: "En direct",
    away: "Le serveur ne répond pas. Les chiffres reprendront d’eux-mêmes.",
  },
  starting: "Les chiffres apparaîtront dès que le modèle sera prêt.",
  refused: "Ce sont les chiffres de tout le serveur.",
  refusedTodo: "Connectez-vous avec une clé d’administrateur pour les voir.",
  generated: "Générés",
  prompts: "Prompts",
  running: "En cours",
  waiting: "En attente",
  batch: "Taille du lot",
  tokensPerSecond: "tokens/s",
  requests: "Requêtes",
  requestsUnit: "requêtes",
  blocks: "blocs/s",
  perStep: "par pas",
  computed: "Calculés",
  secondsAgo: (seconds) => `−${seconds} s`,
  minutesAgo: (minutes) => `−${minutes} min`,
  now: "maintenant",
  used: (used, capacity) => `${used} sur ${capacity}`,
  usedOnly: (used) => `${used}, sans limite`,
  state: (_said, state) => STATES[state],
  occupancy: "Occupation",
  hitRate: "Taux de réussite",
  hitRateNote: "Part des tokens de prompts cherchés et trouvés dans ce niveau pendant la dernière minute",
  evictions: "Évictions",
  blocksPerSecond: (blocks) => `${blocks} blocs/s`,
  byTenant: "Par locataire",
  others: "autres",
  shared: "partagé par tous",
  in: "Entrées",
  out: "Sorties",
  traffic: (tier) => `${tier}, entrées et sorties`,
  breaker: "Disjoncteur",
  breakers: {
    closed: "fermé",
    open: "ouvert : inutilisé",
    "half-open": "entrouvert : essai en cours",
  },
  replicas: "Réplicas",
  replica: (index) => `Réplica ${index}`,
  replicaStates: {
    ok: "en service",
    starting: "démarre",
    failed: "en panne",
  },
  replicaAnswers: (count) => plural(count, { one: `${count} réponse`, other: `${count} réponses` }),
  replicaRestarts: (count) => plural(count, { one: `${count} redémarrage`, other: `${count} redémarrages` }),
  routes: "Requêtes réparties",
  routesUnit: "par seconde",
  predicted: "Premier token, prévu / observé",
  predictedNote: "Temps moyen entre le choix du réplica et le premier token pendant la dernière minute",
  takeovers: "Réponses reprises",
  table: "Les graphiques sous forme de tableau",
  of: (chart, series) => `${chart} : ${series}`,
  inUnit: (name, unit) => `${name} (${unit})`,
  column: {
    what: "Mesure",
    now: "Actuel",
    mean: "Moyenne",
    most: "Maximum",
  },
};
