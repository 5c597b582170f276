import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("et");

/** Estonian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Muudetud vastus",
    note: "Järgmine sõnum jätkab sinu tekstist. Algne vastus jääb versioonina alles.",
  },

  rating: {
    field: "Mis oli valesti?",
    note: "Pole kohustuslik. Sinu tagasiside salvestatakse koos vastusega.",
  },

  compare: {
    title: "Vastuste võrdlus",
    note: "Kõik vastused kirjutatakse korraga. Ka samade seadetega vastused võivad erineda, kui seemet pole määratud.",
    kept: "Iga vastus jääb versioonina vestlusse.",
    column: (index) => `Vastus ${index}`,
    temperature: (value) => `Temperatuur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seeme ${value}`,
    add: "Lisa vastus",
    remove: (index) => `Eemalda vastus ${index}`,
    start: "Võrdle",
    keep: "Jäta see",
    merge: "Ühenda üheks vastuseks",
    stop: (index) => `Peata vastus ${index}`,
    stopAll: "Peata kõik",
  },

  prompts: {
    title: "Salvestatud viibad",
    search: "Otsi viipa",
    none: "Viipasid ei leitud.",
    empty: "Salvestatud viipasid veel pole. Salvesta tekst, millega sageli sõnumeid alustad: kui tühja sõnumisse kirjutada „/“, ilmub see siia.",
    add: "Uus viip",
    edit: (name) => `Muuda: „${name}“`,
    name: "Viiba nimi",
    text: "Tekst",
    placeholders: "Kahekordsetes looksulgudes kohatäited, näiteks {{linn}}, valitakse sulle täitmiseks.",
    remove: "Kustuta viip",
  },

  files: {
    search: "Otsi faili",
    none: "Faile ei leitud. Faili alleshoidmiseks klõpsa seda manustades sellel olevat järjehoidjat.",
    size: (characters) => `${characters} märki`,
    remove: (name) => `Kustuta ${name}`,
    delete: "Kustuta",
    confirm: "Kas kustutada see fail sinu failide hulgast? Vestlused, milles see sisaldub, jäävad muutmata.",
  },

  find: {
    title: "Otsi sellest vestlusest",
    next: "Järgmine vaste",
    previous: "Eelmine vaste",
    at: (at, total) => `${at} / ${total}`,
    none: "Ei leitud",
  },

  queue: {
    title: "Järjekorras olev sõnum",
    waiting: "Järjekorras. Saadetakse, kui vastus on valmis.",
    now: "Saada kohe",
    nowTitle: "Peatab vastuse ja jätab selle teksti alles",
    held: "Pole veel saadetud: vastus peatati või lõppes ajal, mil sind siin polnud.",
    files: (count) => plural(count, { one: "1 fail", other: `${count} faili` }),
  },

  reading: {
    progress: (done, total) => `Vestluse lugemine: ${done} / ${total} tokenit`,
    left: (time) => `jäänud umbes ${time}`,
  },

  regenerate: {
    title: "Loo muude seadetega uuesti",
    note: "Need seaded kehtivad ainult sellele vastusele. Tühi tokenivaliku väli kasutab vestluse seadet; kui süsteemiviip on tühi, kirjutatakse vastus ilma selleta.",
    start: "Loo uuesti",
  },
};
