import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("sk");

/** Slovak texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Upravená odpoveď",
    note: "Ďalšia správa nadviaže na váš text. Pôvodná odpoveď zostane ako verzia.",
  },

  rating: {
    field: "Čo bolo zle?",
    note: "Nepovinné. Spätná väzba sa uloží k odpovedi.",
  },

  compare: {
    title: "Porovnať odpovede",
    note: "Všetky odpovede sa píšu súčasne. Aj pri rovnakých nastaveniach sa môžu líšiť, ak nie je nastavený seed.",
    kept: "Každá odpoveď zostane v chate ako verzia.",
    column: (index) => `Odpoveď ${index}`,
    temperature: (value) => `Teplota ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Pridať odpoveď",
    remove: (index) => `Odstrániť odpoveď ${index}`,
    start: "Porovnať",
    keep: "Ponechať túto",
    merge: "Zlúčiť do jednej odpovede",
    stop: (index) => `Zastaviť odpoveď ${index}`,
    stopAll: "Zastaviť všetky",
  },

  prompts: {
    title: "Uložené prompty",
    search: "Nájsť prompt",
    none: "Nenašli sa žiadne prompty.",
    empty: "Zatiaľ žiadne uložené prompty. Uložte text, ktorým často začínate správy: „/“ v prázdnej správe ho potom zobrazí tu.",
    add: "Nový prompt",
    edit: (name) => `Upraviť „${name}“`,
    name: "Názov promptu",
    text: "Text",
    placeholders: "Zástupné miesta v dvojitých zložených zátvorkách, napríklad {{mesto}}, sa označia na vyplnenie.",
    remove: "Odstrániť prompt",
  },

  files: {
    search: "Nájsť súbor",
    none: "Nenašli sa žiadne súbory. Súbor si uložíte kliknutím na záložku, keď ho prikladáte.",
    size: (characters) => `znakov: ${characters}`,
    remove: (name) => `Odstrániť ${name}`,
    delete: "Odstrániť",
    confirm: "Odstrániť tento súbor z vašich súborov? Chaty, ktoré ho obsahujú, zostanú bez zmeny.",
  },

  find: {
    title: "Nájsť v tomto chate",
    next: "Ďalší výskyt",
    previous: "Predchádzajúci výskyt",
    at: (at, total) => `${at} z ${total}`,
    none: "Nenašlo sa",
  },

  queue: {
    title: "Správa vo fronte",
    waiting: "Vo fronte. Odošle sa po dokončení odpovede.",
    now: "Odoslať hneď",
    nowTitle: "Zastaví odpoveď a ponechá jej text",
    held: "Zatiaľ neodoslané: odpoveď bola zastavená, alebo sa skončila, keď ste tu neboli.",
    files: (count) => plural(count, { one: "1 súbor", few: `${count} súbory`, other: `${count} súborov` }),
  },

  reading: {
    progress: (done, total) => `Číta sa chat: ${done} z ${total} tokenov`,
    left: (time) => `zostáva približne ${time}`,
  },

  regenerate: {
    title: "Vygenerovať znova s inými nastaveniami",
    note: "Tieto nastavenia platia len pre túto odpoveď. Prázdne pole vzorkovania použije nastavenie chatu; ak je systémový prompt prázdny, odpoveď žiadny nemá.",
    start: "Vygenerovať znova",
  },
};
