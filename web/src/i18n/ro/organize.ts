import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ro");

/** Romanian texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Dosare",
  tags: "Etichete",
  inFolder: (name, count) =>
    plural(count, { one: `${name}, ${count} chat`, few: `${name}, ${count} chaturi`, other: `${name}, ${count} de chaturi` }),
  empty: "Acest dosar este gol.",
  remove: "Șterge dosarul",
  removed: (name, parent) =>
    parent === null
      ? `Dosarul „${name}” a fost șters. Conținutul lui este în listă.`
      : `Dosarul „${name}” a fost șters. Conținutul lui este în „${parent}”.`,
  notChanged: "Dosarul nu a fost modificat.",
  deleted: (name) => `S-a șters „${name}”.`,

  newFolder: "Dosar nou",
  newInside: "Dosar nou în acesta",
  settings: "Setările dosarului",
  place: "În dosarul",
  top: "Niciun alt dosar",
  systemPromptHint: "Chaturile noi din acest dosar încep cu el. Îl folosesc și dosarele din interior, dacă nu au unul propriu.",

  back: "Înapoi la toate chaturile",
  backTo: (name) => `Înapoi la ${name}`,
  noArchived: "Niciun chat arhivat.",

  chat: {
    name: "Numele chatului",
    notRenamed: "Chatul nu a fost redenumit.",
    rename: "Redenumește",
    pin: "Fixează",
    unpin: "Anulează fixarea",
    archive: "Arhivează",
    unarchive: "Dezarhivează",
    organize: "Dosar și etichete…",
    select: "Selectează chaturi",
    share: "Partajează…",
    exportMarkdown: "Exportă ca Markdown",
    exportText: "Exportă ca text simplu",
    exportJson: "Exportă ca JSON",
    exportAll: "Exportă toate chaturile",
    import: "Importă chaturi…",
    delete: "Șterge",
    deleteTitle: "Ștergi acest chat?",
    deleteText: (title) => `„${title}” trece în „Șterse recent”. Îl poți restaura de acolo.`,
    deleted: (title) => `„${title}” a fost șters.`,
    archivedNotice: (title) => `„${title}” a fost arhivat.`,
    notDeleted: "Chatul nu a fost șters.",
    notRestored: "Chatul nu a fost restaurat.",
  },

  share: {
    title: (title) => `Partajează „${title}”`,
    list: "Linkuri partajate",
    note: "Oricine are linkul poate citi chatul așa cum este acum, fără să se conecteze. Mesajele ulterioare, celelalte ramuri, promptul de sistem și raționamentul nu sunt afișate.",
    leftOut: "Acolo diagramele și imaginile încorporate apar ca text.",
    days: "Expiră după",
    day: (count) => plural(count, { one: `${count} zi`, few: `${count} zile`, other: `${count} de zile` }),
    receipts: "Arată unde era în cache fiecare prompt",
    create: "Creează link",
    link: "Link",
    qr: "Codul QR al linkului",
    once: "Copiază linkul acum. Nu poate fi afișat din nou.",
    none: "Nu există linkuri partajate.",
    until: (time) => `expiră: ${time}`,
    remove: (title) => `Șterge linkul către ${title}`,
    delete: "Șterge",
  },

  dialog: {
    title: (count) =>
      plural(count, {
        one: "Dosar și etichete",
        few: `Dosar și etichete pentru ${count} chaturi`,
        other: `Dosar și etichete pentru ${count} de chaturi`,
      }),
    folder: "Dosar",
    none: "Fără dosar",
    mixed: "Lasă așa cum sunt",
    create: "Dosar nou…",
    name: "Numele dosarului",
    tags: "Etichete",
    add: "Adaugă o etichetă",
    hint: "Enter adaugă eticheta.",
    take: (tag) => `Elimină eticheta ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Filtre" : `Filtre: ${count}`),
    role: "Scris de",
    roles: {
      "": "Oricine",
      user: "Tine",
      assistant: "Ebb",
    },
    period: "Când",
    periods: {
      any: "Oricând",
      day: "Astăzi",
      week: "Ultimele 7 zile",
      month: "Ultimele 30 de zile",
      year: "Ultimele 12 luni",
      range: "Între două zile…",
    },
    from: "Prima zi",
    to: "Ultima zi",
    folder: "Dosar",
    anyFolder: "Orice dosar",
    tag: "Etichetă",
    anyTag: "Orice etichetă",
    archived: "Arhivă",
    archives: {
      "": "Toate chaturile",
      false: "Fără chaturile arhivate",
      true: "Doar chaturile arhivate",
    },
    clear: "Șterge filtrele",
  },

  selection: {
    label: "Chaturi selectate",
    count: (count) => plural(count, { one: `${count} selectat`, few: `${count} selectate`, other: `${count} selectate` }),
    all: "Selectează tot",
    organize: "Dosar și etichete…",
    archive: "Arhivează",
    unarchive: "Dezarhivează",
    export: "Exportă ca JSON",
    delete: "Șterge",
    done: "Încheie selecția",
    deleteTitle: (count) => plural(count, { one: `Ștergi ${count} chat?`, few: `Ștergi ${count} chaturi?`, other: `Ștergi ${count} de chaturi?` }),
    deleteText: "Trec în „Șterse recent”. Le poți restaura de acolo.",
    deleted: (count) =>
      plural(count, { one: `${count} chat a fost șters.`, few: `${count} chaturi au fost șterse.`, other: `${count} de chaturi au fost șterse.` }),
    archived: (count) =>
      plural(count, {
        one: `${count} chat a fost arhivat.`,
        few: `${count} chaturi au fost arhivate.`,
        other: `${count} de chaturi au fost arhivate.`,
      }),
    unarchived: (count) =>
      plural(count, {
        one: `${count} chat a fost dezarhivat.`,
        few: `${count} chaturi au fost dezarhivate.`,
        other: `${count} de chaturi au fost dezarhivate.`,
      }),
    failed: "Chaturile nu au fost modificate.",
    notExported: "Chaturile nu au fost exportate.",
    progress: (done, total) => `Chaturi: ${done} din ${total}`,
    partly: (done, total) => `Chaturi modificate: ${done} din ${total}.`,
  },
};
