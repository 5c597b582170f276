import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";

const plural = pluralsOf("fr");

/** French texts for the answer tools. */
export const texts: AnswerTexts = {
  edit: {
    field: "Réponse modifiée",
    note: "Le prochain message partira de votre texte. L’original reste disponible comme version.",
  },

  rating: {
    field: "Qu’est-ce qui n’allait pas ?",
    note: "Facultatif. Votre commentaire est conservé avec la réponse.",
  },

  compare: {
    title: "Comparer des réponses",
    note: "Toutes les réponses s’écrivent en même temps. Avec les mêmes réglages, elles peuvent tout de même différer, sauf si une graine est fixée.",
    kept: "Chaque réponse reste dans la conversation comme version.",
    column: (index) => `Réponse ${index}`,
    temperature: (value) => `Température ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Graine ${value}`,
    add: "Ajouter une réponse",
    remove: (index) => `Retirer la réponse ${index}`,
    start: "Comparer",
    keep: "Garder celle-ci",
    merge: "Fusionner en une réponse",
    stop: (index) => `Arrêter la réponse ${index}`,
    stopAll: "Tout arrêter",
  },

  prompts: {
    title: "Prompts enregistrés",
    search: "Rechercher un prompt",
    none: "Aucun prompt trouvé.",
    empty: "Aucun prompt enregistré pour l’instant. Enregistrez un texte par lequel vous commencez souvent vos messages : « / » dans un message vide l’affichera ici.",
    add: "Nouveau prompt",
    edit: (name) => `Modifier « ${name} »`,
    name: "Nom du prompt",
    text: "Texte",
    placeholders: "Les champs entre doubles accolades, comme {{ville}}, sont sélectionnés pour que vous les remplissiez.",
    remove: "Supprimer le prompt",
  },

  files: {
    search: "Rechercher un fichier",
    none: "Aucun fichier trouvé. Pour conserver un fichier, cliquez sur son signet en le joignant.",
    size: (characters) => `${characters} caractères`,
    remove: (name) => `Supprimer ${name}`,
    delete: "Supprimer",
    confirm: "Supprimer ce fichier de vos fichiers ? Les conversations qui le contiennent restent inchangées.",
  },

  find: {
    title: "Rechercher dans ce chat",
    next: "Résultat suivant",
    previous: "Résultat précédent",
    at: (at, total) => `${at} sur ${total}`,
    none: "Introuvable",
  },

  queue: {
    title: "Message en attente",
    waiting: "En attente. Envoi quand la réponse sera terminée.",
    now: "Envoyer maintenant",
    nowTitle: "Arrête la réponse et conserve son texte",
    held: "Pas encore envoyé : la réponse a été arrêtée, ou s’est terminée en votre absence.",
    files: (count) => plural(count, { one: `${count} fichier`, other: `${count} fichiers` }),
  },

  reading: {
    progress: (done, total) => `Lecture de la conversation : ${done} tokens sur ${total}`,
    left: (time) => `encore environ ${time}`,
  },

  models: {
    title: "Modèle",
    menu: (name) => `Modèle : ${name}`,
    states: { loaded: "En mémoire", unloaded: "Chargé quand vous l’interrogez", draining: "En cours de déchargement", failed: "N’a pas pu être chargé" },
    reads: (tokens) => `doit lire ${tokens} de cette discussion`,
    known: "a déjà lu cette discussion",
    tooLong: "cette discussion est trop longue pour lui",
    noAnswers: "crée des embeddings et classe des textes, mais ne peut pas répondre",
  },

  regenerate: {
    title: "Régénérer avec d’autres réglages",
    note: "Ces réglages ne concernent que cette réponse. Un champ d’échantillonnage vide reprend le réglage de la conversation ; si le prompt système est vide, la réponse n’en a pas.",
    start: "Régénérer",
  },
};
