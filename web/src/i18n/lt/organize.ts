import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lt");

/** Lithuanian texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Aplankai",
  tags: "Žymos",
  inFolder: (name, count) =>
    plural(count, { one: `${name}, ${count} pokalbis`, few: `${name}, ${count} pokalbiai`, other: `${name}, ${count} pokalbių` }),
  empty: "Šis aplankas tuščias.",
  remove: "Ištrinti aplanką",
  removed: (name, parent) =>
    parent === null
      ? `Aplankas „${name}“ ištrintas. Jo turinys yra sąraše.`
      : `Aplankas „${name}“ ištrintas. Jo turinys yra aplanke „${parent}“.`,
  notChanged: "Aplankas nepakeistas.",
  deleted: (name) => `Ištrinta: „${name}“.`,

  newFolder: "Naujas aplankas",
  newInside: "Naujas aplankas šiame aplanke",
  settings: "Aplanko nustatymai",
  place: "Aukštesnio lygio aplankas",
  top: "Nėra",
  systemPromptHint: "Juo prasideda nauji šio aplanko pokalbiai. Jį naudoja ir poaplankiai, nebent turi savo.",

  back: "Grįžti prie visų pokalbių",
  backTo: (name) => `Grįžti: ${name}`,
  noArchived: "Archyvuotų pokalbių nėra.",

  chat: {
    name: "Pokalbio pavadinimas",
    notRenamed: "Pokalbis nepervardytas.",
    rename: "Pervardyti",
    pin: "Prisegti",
    unpin: "Atsegti",
    archive: "Archyvuoti",
    unarchive: "Išarchyvuoti",
    organize: "Aplankas ir žymos…",
    select: "Pasirinkti pokalbius",
    share: "Bendrinti…",
    exportMarkdown: "Eksportuoti kaip Markdown",
    exportText: "Eksportuoti kaip grynąjį tekstą",
    exportJson: "Eksportuoti kaip JSON",
    exportAll: "Eksportuoti visus pokalbius",
    import: "Importuoti pokalbius…",
    delete: "Ištrinti",
    deleteTitle: "Ištrinti šį pokalbį?",
    deleteText: (title) => `Pokalbis „${title}“ bus perkeltas į „Neseniai ištrinti“. Iš ten jį galėsite atkurti.`,
    deleted: (title) => `Pokalbis „${title}“ ištrintas.`,
    archivedNotice: (title) => `Pokalbis „${title}“ archyvuotas.`,
    notDeleted: "Pokalbis neištrintas.",
    notRestored: "Pokalbis neatkurtas.",
  },

  share: {
    title: (title) => `Bendrinti „${title}“`,
    list: "Bendrinamos nuorodos",
    note: "Kiekvienas, turintis nuorodą, gali be prisijungimo perskaityti pokalbį tokį, koks jis yra dabar. Vėlesnės žinutės, kitos šakos, sistemos raginimas ir mintys nerodomi.",
    leftOut: "Ten diagramos ir įterpti paveikslėliai rodomi kaip tekstas.",
    days: "Nustos galioti po",
    day: (count) => plural(count, { one: `${count} dienos`, few: `${count} dienų`, other: `${count} dienų` }),
    receipts: "Rodyti, kur podėlyje buvo kiekvienas raginimas",
    create: "Sukurti nuorodą",
    link: "Nuoroda",
    qr: "Nuorodos QR kodas",
    once: "Nukopijuokite nuorodą dabar. Dar kartą jos parodyti negalima.",
    none: "Bendrinamų nuorodų nėra.",
    until: (time) => `galioja iki: ${time}`,
    remove: (title) => `Ištrinti nuorodą į „${title}“`,
    delete: "Ištrinti",
  },

  dialog: {
    title: (count) =>
      count === 1
        ? "Aplankas ir žymos"
        : plural(count, {
            one: `${count} pokalbio aplankas ir žymos`,
            few: `${count} pokalbių aplankas ir žymos`,
            other: `${count} pokalbių aplankas ir žymos`,
          }),
    folder: "Aplankas",
    none: "Be aplanko",
    mixed: "Palikti, kaip yra",
    create: "Naujas aplankas…",
    name: "Aplanko pavadinimas",
    tags: "Žymos",
    add: "Pridėti žymą",
    hint: "„Enter“ prideda žymą.",
    take: (tag) => `Pašalinti žymą ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Filtrai" : `Filtrai: ${count}`),
    role: "Autorius",
    roles: {
      "": "Bet kas",
      user: "Jūs",
      assistant: "Ebb",
    },
    period: "Kada",
    periods: {
      any: "Bet kada",
      day: "Šiandien",
      week: "Pastarosios 7 dienos",
      month: "Pastarosios 30 dienų",
      year: "Pastarieji 12 mėnesių",
      range: "Tarp dviejų dienų…",
    },
    from: "Pirmoji diena",
    to: "Paskutinė diena",
    folder: "Aplankas",
    anyFolder: "Bet kuris aplankas",
    tag: "Žyma",
    anyTag: "Bet kuri žyma",
    archived: "Archyvas",
    archives: {
      "": "Visi pokalbiai",
      false: "Be archyvuotų pokalbių",
      true: "Tik archyvuoti pokalbiai",
    },
    clear: "Išvalyti filtrus",
  },

  selection: {
    label: "Pasirinkti pokalbiai",
    count: (count) => `Pasirinkta: ${count}`,
    all: "Pasirinkti visus",
    organize: "Aplankas ir žymos…",
    archive: "Archyvuoti",
    unarchive: "Išarchyvuoti",
    export: "Eksportuoti kaip JSON",
    delete: "Ištrinti",
    done: "Baigti pasirinkimą",
    deleteTitle: (count) =>
      plural(count, { one: `Ištrinti ${count} pokalbį?`, few: `Ištrinti ${count} pokalbius?`, other: `Ištrinti ${count} pokalbių?` }),
    deleteText: "Jie bus perkelti į „Neseniai ištrinti“. Iš ten juos galėsite atkurti.",
    deleted: (count) =>
      plural(count, { one: `Ištrintas ${count} pokalbis.`, few: `Ištrinti ${count} pokalbiai.`, other: `Ištrinta ${count} pokalbių.` }),
    archived: (count) =>
      plural(count, { one: `Archyvuotas ${count} pokalbis.`, few: `Archyvuoti ${count} pokalbiai.`, other: `Archyvuota ${count} pokalbių.` }),
    unarchived: (count) =>
      plural(count, { one: `Išarchyvuotas ${count} pokalbis.`, few: `Išarchyvuoti ${count} pokalbiai.`, other: `Išarchyvuota ${count} pokalbių.` }),
    failed: "Pokalbiai nepakeisti.",
    notExported: "Pokalbiai neeksportuoti.",
    progress: (done, total) => `Pokalbiai: ${done} iš ${total}`,
    partly: (done, total) => `Pakeista pokalbių: ${done} iš ${total}.`,
  },
};
