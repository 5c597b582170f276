import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";

const plural = pluralsOf("fr");

/** French texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "Le message est trop long",
    text: (used, window) => `Avec le message, cette conversation compterait ${used} tokens. Le modèle en lit moins de ${window}.`,
    farTooLong: (window) => `Avec le message, cette conversation dépasse de loin les ${window} tokens que le modèle peut lire.`,
    shorten: "Raccourcissez-le, ou :",
    shortenAlone: "Raccourcissez-le.",
    remove: (name) => `Retirer ${name}`,
    leave: (messages) => plural(messages, { one: "Envoyer sans le premier message", other: `Envoyer sans les ${messages} premiers messages` }),
    summarize: (messages) => plural(messages, { one: "Résumer le premier message", other: `Résumer les ${messages} premiers messages` }),
    summarizing: "Le modèle rédige le résumé. Le message sera envoyé ensuite.",
    leaveTitle: "Ils restent dans la conversation, mais le modèle ne les voit plus.",
    move: "Demander dans une nouvelle conversation",
  },

  allSeen: "À partir d’ici, le modèle voit de nouveau tous les messages.",
  leftOut: (messages) =>
    plural(messages, { one: "À partir d’ici, le modèle ne voit plus le premier message.", other: `À partir d’ici, le modèle ne voit plus les ${messages} premiers messages.` }),

  summary: "Résumé",
  summarized: (messages) =>
    plural(messages, { one: "À partir d’ici, le modèle voit un résumé du premier message.", other: `À partir d’ici, le modèle voit un résumé des ${messages} premiers messages.` }),

  overflow: {
    server: "Ce message est trop volumineux pour le serveur, il reste donc uniquement dans ce navigateur. Raccourcissez-le, ou retirez un fichier.",
    browser: "Ce message est trop volumineux pour être conservé jusqu’à l’envoi. Il sera perdu si vous fermez ou rechargez la page.",
  },

  notRead: (name) => `${name} n’a pas été lu.`,

  unreadable: {
    tooBig: (name) => `${name} contient plus de 512 Kio de texte. Joignez la partie utile.`,
    tooBigPdf: (name) => `${name} dépasse 32 Mio. Joignez la partie utile.`,
    noText: (name) => `${name} n’est ni un fichier texte, ni un PDF, docx, xlsx, pptx ou epub. Le modèle ne lit que du texte : si c’est un document, enregistrez-le dans l’un de ces formats.`,
    old: (name) => `${name} est dans un ancien format bureautique. Enregistrez-le en docx, xlsx ou pptx et joignez le résultat.`,
    empty: (name) => `${name} ne contient pas de texte. Les images de texte nécessitent d’abord une reconnaissance de texte.`,
    tooCostly: (name) => `${name} demande trop de mémoire ou de temps à la lecture. Joignez la partie utile.`,
    scanned: (name) => `${name} ne contient pas de texte, seulement des pages numérisées. Passez-le d’abord à la reconnaissance de texte.`,
    encrypted: (name) => `${name} est protégé par un mot de passe. Enregistrez une copie sans mot de passe et joignez-la.`,
    broken: (name) => `${name} est endommagé et ne peut pas être lu. Enregistrez-le ou téléchargez-le de nouveau.`,
    gone: (name) => `${name} ne peut pas être ouvert. Si c’est un dossier, choisissez les fichiers qu’il contient ; sinon, choisissez-le de nouveau.`,
  },
};
