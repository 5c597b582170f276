import { pluralsOf } from "../plurals";
import type { OrganizeTexts } from "../en/organize";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("is");

/** Icelandic texts for folders, tags and the selection of chats. */
export const texts: PartialTexts<OrganizeTexts> = {
  folders: "Möppur",
  tags: "Merki",
  inFolder: (name, count) => plural(count, { one: `${name}, ${count} spjall`, other: `${name}, ${count} spjöll` }),
  empty: "Þessi mappa er tóm.",
  remove: "Eyða möppu",
  removed: (name, parent) =>
    parent === null
      ? `Möppunni „${name}“ var eytt. Innihaldið er á listanum.`
      : `Möppunni „${name}“ var eytt. Innihaldið er í „${parent}“.`,
  notChanged: "Möppunni var ekki breytt.",
  deleted: (name) => `„${name}“ var eytt.`,

  newFolder: "Ný mappa",
  newInside: "Ný mappa í þessari möppu",
  settings: "Stillingar möppu",
  place: "Staðsetning",
  top: "Ekki í annarri möppu",
  systemPromptHint: "Ný spjöll í þessari möppu byrja með henni. Möppur í möppunni nota hana líka, nema þær hafi sína eigin.",

  back: "Til baka í öll spjöll",
  backTo: (name) => `Til baka í ${name}`,
  noArchived: "Engin spjöll í geymslu.",

  chat: {
    name: "Nafn spjallsins",
    notRenamed: "Spjallið var ekki endurnefnt.",
    rename: "Endurnefna",
    pin: "Festa",
    unpin: "Losa",
    archive: "Setja í geymslu",
    unarchive: "Taka úr geymslu",
    organize: "Mappa og merki…",
    select: "Velja spjöll",
    share: "Deila…",
    exportMarkdown: "Flytja út sem Markdown",
    exportText: "Flytja út sem hreinan texta",
    exportJson: "Flytja út sem JSON",
    exportAll: "Flytja út öll spjöll",
    import: "Flytja inn spjöll…",
    delete: "Eyða",
    deleteTitle: "Eyða þessu spjalli?",
    deleteText: (title) => `„${title}“ færist í „Nýlega eytt“. Þú getur endurheimt spjallið þaðan.`,
    deleted: (title) => `„${title}“ var eytt.`,
    archivedNotice: (title) => `„${title}“ var sett í geymslu.`,
    notDeleted: "Spjallinu var ekki eytt.",
    notRestored: "Spjallið var ekki endurheimt.",
  },

  share: {
    title: (title) => `Deila „${title}“`,
    list: "Deildir tenglar",
    note: "Allir sem hafa tengilinn geta lesið spjallið eins og það er núna, án innskráningar. Síðari skilaboð, aðrar greinar, kerfiskvaðningin og hugsanir sjást ekki.",
    leftOut: "Skýringarmyndir og innfelldar myndir birtast þar sem texti.",
    days: "Gildistími",
    day: (count) => plural(count, { one: `${count} dagur`, other: `${count} dagar` }),
    receipts: "Sýna hvar hver kvaðning var í skyndiminni",
    create: "Búa til tengil",
    link: "Tengill",
    qr: "QR-kóði tengilsins",
    once: "Afritaðu tengilinn núna. Ekki er hægt að sýna hann aftur.",
    none: "Engir deildir tenglar eru til.",
    until: (time) => `rennur út: ${time}`,
    remove: (title) => `Eyða tenglinum á ${title}`,
    delete: "Eyða",
  },

  dialog: {
    title: (count) =>
      count === 1 ? "Mappa og merki" : plural(count, { one: `Mappa og merki: ${count} spjall`, other: `Mappa og merki: ${count} spjöll` }),
    folder: "Mappa",
    none: "Engin mappa",
    mixed: "Láta óbreytt",
    create: "Ný mappa…",
    name: "Nafn möppunnar",
    tags: "Merki",
    add: "Bæta við merki",
    hint: "Enter bætir merkinu við.",
    take: (tag) => `Fjarlægja merkið ${tag}`,
  },

  filters: {
    count: (count) => (count === 0 ? "Síur" : `Síur: ${count}`),
    role: "Höfundur",
    roles: {
      "": "Allir",
      user: "Þú",
      assistant: "Ebb",
    },
    period: "Hvenær",
    periods: {
      any: "Hvenær sem er",
      day: "Í dag",
      week: "Síðustu 7 dagar",
      month: "Síðustu 30 dagar",
      year: "Síðustu 12 mánuðir",
      range: "Milli tveggja daga…",
    },
    from: "Fyrsti dagur",
    to: "Síðasti dagur",
    folder: "Mappa",
    anyFolder: "Allar möppur",
    tag: "Merki",
    anyTag: "Öll merki",
    archived: "Geymsla",
    archives: {
      "": "Öll spjöll",
      false: "Án spjalla í geymslu",
      true: "Aðeins spjöll í geymslu",
    },
    clear: "Hreinsa síurnar",
  },

  selection: {
    label: "Valin spjöll",
    count: (count) => plural(count, { one: `${count} valið`, other: `${count} valin` }),
    all: "Velja öll",
    organize: "Mappa og merki…",
    archive: "Setja í geymslu",
    unarchive: "Taka úr geymslu",
    export: "Flytja út sem JSON",
    delete: "Eyða",
    done: "Hætta vali",
    deleteTitle: (count) => plural(count, { one: `Eyða ${count} spjalli?`, other: `Eyða ${count} spjöllum?` }),
    deleteText: "Þau færast í „Nýlega eytt“. Þú getur endurheimt þau þaðan.",
    deleted: (count) => plural(count, { one: `${count} spjalli var eytt.`, other: `${count} spjöllum var eytt.` }),
    archived: (count) => plural(count, { one: `${count} spjall var sett í geymslu.`, other: `${count} spjöll voru sett í geymslu.` }),
    unarchived: (count) => plural(count, { one: `${count} spjall var tekið úr geymslu.`, other: `${count} spjöll voru tekin úr geymslu.` }),
    failed: "Spjöllunum var ekki breytt.",
    notExported: "Spjöllin voru ekki flutt út.",
    progress: (done, total) => `Spjöll: ${done} af ${total}`,
    partly: (done, total) => `${done} af ${total} spjöllum var breytt.`,
  },
};
