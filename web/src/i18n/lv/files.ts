import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lv");

/** Latvian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Ziņa ir pārāk gara",
    text: (used, window) => `Ar šo ziņu tērzēšanā būtu ${used} tokenu. Modelis lasa mazāk nekā ${window}.`,
    farTooLong: (window) => `Ar šo ziņu tērzēšana ir daudz garāka par ${window} tokeniem, ko lasa modelis.`,
    shorten: "Saīsiniet to vai:",
    shortenAlone: "Saīsiniet to.",
    remove: (name) => `Noņemt ${name}`,
    leave: (messages) =>
      messages === 1
        ? "Sūtīt bez pirmās ziņas"
        : plural(messages, { zero: `Sūtīt bez pirmajām ${messages} ziņām`, one: `Sūtīt bez pirmās ${messages} ziņas`, other: `Sūtīt bez pirmajām ${messages} ziņām` }),
    summarize: (messages) =>
      messages === 1
        ? "Apkopot pirmo ziņu"
        : plural(messages, { zero: `Apkopot pirmās ${messages} ziņas`, one: `Apkopot pirmo ${messages} ziņu`, other: `Apkopot pirmās ${messages} ziņas` }),
    summarizing: "Modelis raksta kopsavilkumu. Ziņa tiks nosūtīta pēc tam.",
    leaveTitle: "Tās paliek tērzēšanā, bet modelis tās vairs neredz.",
    move: "Jautāt jaunā tērzēšanā",
  },

  allSeen: "No šejienes modelis atkal redz visas ziņas.",
  leftOut: (messages) =>
    messages === 1
      ? "No šejienes modelis vairs neredz pirmo ziņu."
      : plural(messages, {
          zero: `No šejienes modelis vairs neredz pirmās ${messages} ziņas.`,
          one: `No šejienes modelis vairs neredz pirmo ${messages} ziņu.`,
          other: `No šejienes modelis vairs neredz pirmās ${messages} ziņas.`,
        }),

  summary: "Kopsavilkums",
  summarized: (messages) =>
    messages === 1
      ? "No šejienes modelis redz pirmās ziņas kopsavilkumu."
      : plural(messages, {
          zero: `No šejienes modelis redz pirmo ${messages} ziņu kopsavilkumu.`,
          one: `No šejienes modelis redz pirmās ${messages} ziņas kopsavilkumu.`,
          other: `No šejienes modelis redz pirmo ${messages} ziņu kopsavilkumu.`,
        }),

  overflow: {
    server: "Šī ziņa serverim ir pārāk liela, tāpēc tā paliek tikai šajā pārlūkā. Saīsiniet to vai noņemiet kādu failu.",
    browser: "Šī ziņa ir pārāk liela, lai to glabātu līdz nosūtīšanai. Tā pazudīs, ja aizvērsiet vai pārlādēsiet lapu.",
  },

  notRead: (name) => `${name} netika nolasīts.`,

  unreadable: {
    tooBig: (name) => `Failā ${name} ir vairāk nekā 512 KiB teksta. Pievienojiet vajadzīgo daļu.`,
    tooBigPdf: (name) => `${name} ir lielāks par 32 MiB. Pievienojiet vajadzīgo daļu.`,
    noText: (name) => `${name} nav teksta fails, PDF, docx, xlsx, pptx vai epub. Modelis lasa tikai tekstu: dokumentu saglabājiet kādā no šiem formātiem.`,
    old: (name) => `${name} ir vecā Office formātā. Saglabājiet to kā docx, xlsx vai pptx un pievienojiet rezultātu.`,
    empty: (name) => `Failā ${name} nav teksta. Tekstam attēlos vispirms vajadzīga teksta atpazīšana.`,
    tooCostly: (name) => `Faila ${name} lasīšanai vajag pārāk daudz atmiņas vai laika. Pievienojiet vajadzīgo daļu.`,
    scanned: (name) => `Failā ${name} nav teksta, tikai skenētas lapas. Vispirms veiciet teksta atpazīšanu.`,
    encrypted: (name) => `${name} ir aizsargāts ar paroli. Saglabājiet kopiju bez paroles un pievienojiet to.`,
    broken: (name) => `${name} ir bojāts, un to nevar nolasīt. Saglabājiet vai lejupielādējiet to vēlreiz.`,
    gone: (name) => `${name} nevar atvērt. Ja tā ir mape, izvēlieties tajā esošos failus; citādi izvēlieties to vēlreiz.`,
  },
};
