import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lt");

/** Lithuanian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Pakeistas atsakymas",
    note: "Kita žinutė pratęs jūsų tekstą. Originalas lieka kaip versija.",
  },

  rating: {
    field: "Kas buvo negerai?",
    note: "Neprivaloma. Atsiliepimas išsaugomas su atsakymu.",
  },

  compare: {
    title: "Atsakymų palyginimas",
    note: "Visi atsakymai rašomi vienu metu. Net ir su tais pačiais nustatymais jie gali skirtis, nebent nustatyta pradinė reikšmė.",
    kept: "Kiekvienas atsakymas lieka pokalbyje kaip versija.",
    column: (index) => `Atsakymas ${index}`,
    temperature: (value) => `Temperatūra ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Pradinė reikšmė ${value}`,
    add: "Pridėti atsakymą",
    remove: (index) => `Pašalinti atsakymą ${index}`,
    start: "Palyginti",
    keep: "Palikti šį",
    merge: "Sujungti į vieną atsakymą",
    stop: (index) => `Stabdyti atsakymą ${index}`,
    stopAll: "Stabdyti visus",
  },

  prompts: {
    title: "Išsaugoti raginimai",
    search: "Rasti raginimą",
    none: "Raginimų nerasta.",
    empty: "Išsaugotų raginimų dar nėra. Išsaugokite tekstą, kuriuo dažnai pradedate žinutes: „/“ tuščioje žinutėje parodys jį čia.",
    add: "Naujas raginimas",
    edit: (name) => `Redaguoti „${name}“`,
    name: "Raginimo pavadinimas",
    text: "Tekstas",
    placeholders: "Vietos dvigubuose riestiniuose skliaustuose, pvz., {{miestas}}, pažymimos, kad jas užpildytumėte.",
    remove: "Ištrinti raginimą",
  },

  files: {
    search: "Rasti failą",
    none: "Failų nerasta. Pridėdami failą, išsaugokite jį žymelės mygtuku.",
    size: (characters) => `simbolių: ${characters}`,
    remove: (name) => `Ištrinti ${name}`,
    delete: "Ištrinti",
    confirm: "Ištrinti šį failą iš jūsų failų? Pokalbiai, kuriuose jis yra, nepasikeis.",
  },

  find: {
    title: "Rasti šiame pokalbyje",
    next: "Kitas atitikmuo",
    previous: "Ankstesnis atitikmuo",
    at: (at, total) => `${at} iš ${total}`,
    none: "Nerasta",
  },

  queue: {
    title: "Žinutė eilėje",
    waiting: "Eilėje. Bus išsiųsta, kai atsakymas bus baigtas.",
    now: "Siųsti dabar",
    nowTitle: "Sustabdo atsakymą ir palieka jo tekstą",
    held: "Dar neišsiųsta: atsakymas buvo sustabdytas arba baigėsi, kol jūsų čia nebuvo.",
    files: (count) => plural(count, { one: `${count} failas`, few: `${count} failai`, other: `${count} failų` }),
  },

  reading: {
    progress: (done, total) => `Skaitomas pokalbis: ${done} iš ${total} žetonų`,
    left: (time) => `liko maždaug ${time}`,
  },

  regenerate: {
    title: "Generuoti iš naujo su kitais nustatymais",
    note: "Šie nustatymai taikomi tik šiam atsakymui. Tuščiam atrankos laukui taikomas pokalbio nustatymas, o jei sistemos raginimas tuščias, atsakymas rašomas be jo.",
    start: "Generuoti iš naujo",
  },
};
