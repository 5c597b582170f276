import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("af");

/** Afrikaans texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Gewysigde antwoord",
    note: "Die volgende boodskap gaan van jou teks af voort. Die oorspronklike word as weergawe bewaar.",
  },

  rating: {
    field: "Wat was verkeerd?",
    note: "Opsioneel. Jou terugvoer word saam met die antwoord bewaar.",
  },

  compare: {
    title: "Vergelyk antwoorde",
    note: "Alle antwoorde word gelyktydig geskryf. Antwoorde met dieselfde instellings kan steeds verskil, tensy ’n saadgetal gestel is.",
    kept: "Elke antwoord bly as weergawe in die klets.",
    column: (index) => `Antwoord ${index}`,
    temperature: (value) => `Temperatuur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Saadgetal ${value}`,
    add: "Voeg ’n antwoord by",
    remove: (index) => `Verwyder antwoord ${index}`,
    start: "Vergelyk",
    keep: "Hou hierdie een",
    merge: "Voeg saam tot een antwoord",
    stop: (index) => `Stop antwoord ${index}`,
    stopAll: "Stop almal",
  },

  prompts: {
    title: "Gestoorde prompts",
    search: "Soek ’n prompt",
    none: "Geen prompts gevind nie.",
    empty: "Nog geen gestoorde prompts nie. Stoor ’n teks waarmee jy dikwels boodskappe begin: “/” in ’n leë boodskap wys dit dan hier.",
    add: "Nuwe prompt",
    edit: (name) => `Wysig “${name}”`,
    name: "Naam van die prompt",
    text: "Teks",
    placeholders: "Plekhouers in dubbele krulhakies, soos {{stad}}, word gekies sodat jy dit kan invul.",
    remove: "Vee prompt uit",
  },

  files: {
    search: "Soek ’n lêer",
    none: "Geen lêers gevind nie. Om ’n lêer te hou, klik op die boekmerk daarop wanneer jy dit aanheg.",
    size: (characters) => `${characters} karakters`,
    remove: (name) => `Vee ${name} uit`,
    delete: "Vee uit",
    confirm: "Vee hierdie lêer uit jou lêers uit? Kletse wat dit bevat, bly soos hulle is.",
  },

  find: {
    title: "Soek in hierdie gesprek",
    next: "Volgende treffer",
    previous: "Vorige treffer",
    at: (at, total) => `${at} van ${total}`,
    none: "Nie gevind nie",
  },

  queue: {
    title: "Boodskap in die tou",
    waiting: "In die tou. Word gestuur wanneer die antwoord klaar is.",
    now: "Stuur nou",
    nowTitle: "Stop die antwoord en behou die teks daarvan",
    held: "Nog nie gestuur nie: die antwoord is gestop, of het geëindig terwyl jy weg was.",
    files: (count) => plural(count, { one: `${count} lêer`, other: `${count} lêers` }),
  },

  reading: {
    progress: (done, total) => `Lees die klets: ${done} van ${total} tokens`,
    left: (time) => `nog ongeveer ${time}`,
  },

  regenerate: {
    title: "Genereer weer met ander instellings",
    note: "Hierdie instellings geld net vir hierdie antwoord. ’n Leë steekproefveld gebruik die klets se instelling; as die stelselprompt leeg gelaat word, kry die antwoord geen stelselprompt nie.",
    start: "Genereer weer",
  },
};
