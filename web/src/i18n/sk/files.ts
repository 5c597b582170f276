import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sk");

/** Slovak texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Správa je príliš dlhá",
    text: (used, window) => `S touto správou by mal chat ${used} tokenov. Model číta menej ako ${window}.`,
    farTooLong: (window) => `S touto správou je chat oveľa dlhší ako ${window} tokenov, ktoré model číta.`,
    shorten: "Skráťte ju alebo:",
    shortenAlone: "Skráťte ju.",
    remove: (name) => `Odstrániť ${name}`,
    leave: (messages) =>
      plural(messages, {
        one: "Odoslať bez prvej správy",
        few: `Odoslať bez prvých ${messages} správ`,
        other: `Odoslať bez prvých ${messages} správ`,
      }),
    summarize: (messages) =>
      plural(messages, { one: "Zhrnúť prvú správu", few: `Zhrnúť prvé ${messages} správy`, other: `Zhrnúť prvých ${messages} správ` }),
    summarizing: "Model píše zhrnutie. Správa sa odošle potom.",
    leaveTitle: "Zostanú v chate, ale model ich už neuvidí.",
    move: "Opýtať sa v novom chate",
  },

  allSeen: "Odtiaľto model znova vidí všetky správy.",
  leftOut: (messages) =>
    plural(messages, {
      one: "Odtiaľto už model nevidí prvú správu.",
      few: `Odtiaľto už model nevidí prvé ${messages} správy.`,
      other: `Odtiaľto už model nevidí prvých ${messages} správ.`,
    }),

  summary: "Zhrnutie",
  summarized: (messages) =>
    plural(messages, {
      one: "Odtiaľto model vidí zhrnutie prvej správy.",
      few: `Odtiaľto model vidí zhrnutie prvých ${messages} správ.`,
      other: `Odtiaľto model vidí zhrnutie prvých ${messages} správ.`,
    }),

  overflow: {
    server: "Táto správa je pre server príliš veľká, preto zostane iba v tomto prehliadači. Skráťte ju alebo vynechajte niektorý súbor.",
    browser: "Táto správa je príliš veľká na to, aby sa uchovala do odoslania. Ak stránku zavriete alebo znova načítate, stratí sa.",
  },

  notRead: (name) => `Súbor ${name} nebol prečítaný.`,

  unreadable: {
    tooBig: (name) => `Súbor ${name} obsahuje viac ako 512 KiB textu. Priložte len dôležitú časť.`,
    tooBigPdf: (name) => `Súbor ${name} je väčší ako 32 MiB. Priložte len dôležitú časť.`,
    noText: (name) => `${name} nie je textový súbor, PDF, docx, xlsx, pptx ani epub. Model číta iba text: dokument uložte v jednom z týchto formátov.`,
    old: (name) => `Súbor ${name} je v starom kancelárskom formáte. Uložte ho ako docx, xlsx alebo pptx a priložte.`,
    empty: (name) => `Súbor ${name} neobsahuje text. Pri obrázkoch s textom treba najprv text rozpoznať.`,
    tooCostly: (name) => `Čítanie súboru ${name} vyžaduje príliš veľa pamäte alebo času. Priložte len dôležitú časť.`,
    scanned: (name) => `Súbor ${name} neobsahuje text, iba naskenované strany. Najprv v ňom rozpoznajte text.`,
    encrypted: (name) => `Súbor ${name} je chránený heslom. Uložte kópiu bez hesla a priložte ju.`,
    broken: (name) => `Súbor ${name} je poškodený a nedá sa prečítať. Uložte alebo stiahnite ho znova.`,
    gone: (name) => `${name} sa nedá otvoriť. Ak ide o priečinok, vyberte súbory v ňom, inak vyberte súbor znova.`,
  },
};
