import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sk");

/** Slovak texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Priečinky",
  tags: "Štítky",
  inFolder: (name, count) => plural(count, { one: `${name}, 1 chat`, few: `${name}, ${count} chaty`, other: `${name}, ${count} chatov` }),
  empty: "Tento priečinok je prázdny.",
  remove: "Odstrániť priečinok",
  removed: (name, parent) =>
    parent === null
      ? `Priečinok „${name}“ bol odstránený. Jeho obsah je v zozname.`
      : `Priečinok „${name}“ bol odstránený. Jeho obsah je v priečinku „${parent}“.`,
  notChanged: "Priečinok nebol zmenený.",
  deleted: (name) => `Odstránené: „${name}“.`,

  newFolder: "Nový priečinok",
  newInside: "Nový priečinok v tomto priečinku",
  settings: "Nastavenia priečinka",
  place: "Nadradený priečinok",
  top: "Žiadny",
  systemPromptHint: "Začínajú ním nové chaty v tomto priečinku. Používajú ho aj podpriečinky, ak nemajú vlastný.",

  back: "Späť na všetky chaty",
  backTo: (name) => `Späť: ${name}`,
  noArchived: "Žiadne archivované chaty.",

  chat: {
    name: "Názov chatu",
    notRenamed: "Chat nebol premenovaný.",
    rename: "Premenovať",
    pin: "Pripnúť",
    unpin: "Odopnúť",
    archive: "Archivovať",
    unarchive: "Zrušiť archiváciu",
    organize: "Priečinok a štítky…",
    select: "Vybrať chaty",
    share: "Zdieľať…",
    exportMarkdown: "Exportovať ako Markdown",
    exportText: "Exportovať ako obyčajný text",
    exportJson: "Exportovať ako JSON",
    exportAll: "Exportovať všetky chaty",
    import: "Importovať chaty…",
    delete: "Odstrániť",
    deleteTitle: "Odstrániť tento chat?",
    deleteText: (title) => `Chat „${title}“ sa presunie do Nedávno odstránených. Odtiaľ ho môžete obnoviť.`,
    deleted: (title) => `Chat „${title}“ bol odstránený.`,
    archivedNotice: (title) => `Chat „${title}“ bol archivovaný.`,
    notDeleted: "Chat nebol odstránený.",
    notRestored: "Chat nebol obnovený.",
  },

  share: {
    title: (title) => `Zdieľať „${title}“`,
    list: "Zdieľané odkazy",
    note: "Každý, kto má odkaz, si môže chat v súčasnej podobe prečítať bez prihlásenia. Neskoršie správy, iné vetvy, systémový prompt ani úvahy sa nezobrazujú.",
    leftOut: "Diagramy a vložené obrázky sú tam zobrazené ako text.",
    days: "Platnosť sa skončí o",
    day: (count) => plural(count, { one: "1 deň", few: `${count} dni`, other: `${count} dní` }),
    receipts: "Zobrazovať, kde bol každý prompt vo vyrovnávacej pamäti",
    create: "Vytvoriť odkaz",
    link: "Odkaz",
    qr: "QR kód odkazu",
    once: "Skopírujte si odkaz teraz. Znova sa nedá zobraziť.",
    none: "Žiadne zdieľané odkazy.",
    until: (time) => `platnosť sa končí: ${time}`,
    remove: (title) => `Odstrániť odkaz na ${title}`,
    delete: "Odstrániť",
  },

  dialog: {
    title: (count) => plural(count, { one: "Priečinok a štítky", few: `Priečinok a štítky ${count} chatov`, other: `Priečinok a štítky ${count} chatov` }),
    folder: "Priečinok",
    none: "Bez priečinka",
    mixed: "Ponechať bez zmeny",
    create: "Nový priečinok…",
    name: "Názov priečinka",
    tags: "Štítky",
    add: "Pridať štítok",
    hint: "Enter pridá štítok.",
    take: (tag) => `Odstrániť štítok ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Filtre" : `Filtre: ${count}`),
    role: "Autor",
    roles: {
      "": "Ktokoľvek",
      user: "Vy",
      assistant: "Ebb",
    },
    period: "Kedy",
    periods: {
      any: "Kedykoľvek",
      day: "Dnes",
      week: "Posledných 7 dní",
      month: "Posledných 30 dní",
      year: "Posledných 12 mesiacov",
      range: "Medzi dvoma dňami…",
    },
    from: "Prvý deň",
    to: "Posledný deň",
    folder: "Priečinok",
    anyFolder: "Ľubovoľný priečinok",
    tag: "Štítok",
    anyTag: "Ľubovoľný štítok",
    archived: "Archív",
    archives: {
      "": "Všetky chaty",
      false: "Bez archivovaných chatov",
      true: "Iba archivované chaty",
    },
    clear: "Vymazať filtre",
  },

  selection: {
    label: "Vybrané chaty",
    count: (count) => `Vybrané: ${count}`,
    all: "Vybrať všetko",
    organize: "Priečinok a štítky…",
    archive: "Archivovať",
    unarchive: "Zrušiť archiváciu",
    export: "Exportovať ako JSON",
    delete: "Odstrániť",
    done: "Ukončiť výber",
    deleteTitle: (count) => plural(count, { one: "Odstrániť 1 chat?", few: `Odstrániť ${count} chaty?`, other: `Odstrániť ${count} chatov?` }),
    deleteText: "Presunú sa do Nedávno odstránených. Odtiaľ ich môžete obnoviť.",
    deleted: (count) => plural(count, { one: "Bol odstránený 1 chat.", few: `Boli odstránené ${count} chaty.`, other: `Bolo odstránených ${count} chatov.` }),
    archived: (count) => plural(count, { one: "Bol archivovaný 1 chat.", few: `Boli archivované ${count} chaty.`, other: `Bolo archivovaných ${count} chatov.` }),
    unarchived: (count) =>
      plural(count, {
        one: "Archivácia 1 chatu bola zrušená.",
        few: `Archivácia ${count} chatov bola zrušená.`,
        other: `Archivácia ${count} chatov bola zrušená.`,
      }),
    failed: "Chaty neboli zmenené.",
    notExported: "Chaty sa neexportovali.",
    progress: (done, total) => `Chaty: ${done} z ${total}`,
    partly: (done, total) => `Zmenené chaty: ${done} z ${total}.`,
  },
};
