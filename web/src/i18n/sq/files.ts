import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sq");

/** Albanian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Mesazhi është shumë i gjatë",
    text: (used, window) => `Me këtë mesazh, biseda do të kishte ${used} tokenë. Modeli lexon më pak se ${window}.`,
    farTooLong: (window) => `Me këtë mesazh, biseda është shumë më e gjatë se ${window} tokenët që lexon modeli.`,
    shorten: "Shkurtoje ose:",
    shortenAlone: "Shkurtoje.",
    remove: (name) => `Hiq ${name}`,
    leave: (messages) => plural(messages, { one: "Dërgo pa mesazhin e parë", other: `Dërgo pa ${messages} mesazhet e para` }),
    summarize: (messages) => plural(messages, { one: "Përmblidh mesazhin e parë", other: `Përmblidh ${messages} mesazhet e para` }),
    summarizing: "Modeli po shkruan përmbledhjen. Mesazhi dërgohet më pas.",
    leaveTitle: "Mbeten në bisedë, por modeli nuk i sheh më.",
    move: "Pyet në një bisedë të re",
  },

  allSeen: "Nga këtu e tutje, modeli i sheh përsëri të gjitha mesazhet.",
  leftOut: (messages) => plural(messages, { one: "Nga këtu e tutje, modeli nuk e sheh më mesazhin e parë.", other: `Nga këtu e tutje, modeli nuk i sheh më ${messages} mesazhet e para.` }),

  summary: "Përmbledhje",
  summarized: (messages) => plural(messages, { one: "Nga këtu e tutje, modeli sheh një përmbledhje të mesazhit të parë.", other: `Nga këtu e tutje, modeli sheh një përmbledhje të ${messages} mesazheve të para.` }),

  overflow: {
    server: "Ky mesazh është shumë i madh për serverin, prandaj mbetet vetëm në këtë shfletues. Shkurtoje ose hiq një skedar.",
    browser: "Ky mesazh është shumë i madh për t’u ruajtur derisa ta dërgosh. Ai humbet kur e mbyll ose e ringarkon faqen.",
  },

  notRead: (name) => `${name} nuk u lexua.`,

  unreadable: {
    tooBig: (name) => `${name} ka më shumë se 512 KiB tekst. Bashkëngjit pjesën që të duhet.`,
    tooBigPdf: (name) => `${name} është më i madh se 32 MiB. Bashkëngjit pjesën që të duhet.`,
    noText: (name) => `${name} nuk është skedar teksti, PDF, docx, xlsx, pptx ose epub. Modeli lexon vetëm tekst: nëse është dokument, ruaje në një nga këto formate.`,
    old: (name) => `${name} është në një format të vjetër Office. Ruaje si docx, xlsx ose pptx dhe bashkëngjite atë.`,
    empty: (name) => `${name} nuk përmban tekst. Për tekstin në imazhe duhet më parë njohja e tekstit.`,
    tooCostly: (name) => `Leximi i ${name} kërkon tepër shumë memorie ose kohë. Bashkëngjit pjesën që të duhet.`,
    scanned: (name) => `${name} nuk përmban tekst, vetëm faqe të skanuara. Bëji më parë njohjen e tekstit.`,
    encrypted: (name) => `${name} është i mbrojtur me fjalëkalim. Ruaj një kopje pa fjalëkalim dhe bashkëngjite atë.`,
    broken: (name) => `${name} është i dëmtuar dhe nuk mund të lexohet. Ruaje ose shkarkoje përsëri.`,
    gone: (name) => `${name} nuk mund të hapet. Nëse është dosje, zgjidh skedarët brenda saj; përndryshe zgjidhe përsëri.`,
  },
};
