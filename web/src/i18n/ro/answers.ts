import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("ro");

/** Romanian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Răspuns editat",
    note: "Următorul mesaj continuă de la textul tău. Originalul se păstrează ca versiune.",
  },

  rating: {
    field: "Ce nu a fost bine?",
    note: "Opțional. Feedbackul tău se păstrează împreună cu răspunsul.",
  },

  compare: {
    title: "Compară răspunsuri",
    note: "Toate răspunsurile se scriu în același timp. Chiar și cu aceleași setări, ele pot fi diferite dacă nu este setat un seed.",
    kept: "Fiecare răspuns rămâne în chat ca versiune.",
    column: (index) => `Răspunsul ${index}`,
    temperature: (value) => `Temperatură ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Adaugă un răspuns",
    remove: (index) => `Elimină răspunsul ${index}`,
    start: "Compară",
    keep: "Păstrează-l pe acesta",
    merge: "Combină într-un singur răspuns",
    stop: (index) => `Oprește răspunsul ${index}`,
    stopAll: "Oprește-le pe toate",
  },

  prompts: {
    title: "Prompturi salvate",
    search: "Caută un prompt",
    none: "Nu s-a găsit niciun prompt.",
    empty: "Încă nu ai prompturi salvate. Salvează un text cu care începi des mesajele: apoi „/” într-un mesaj gol îl afișează aici.",
    add: "Prompt nou",
    edit: (name) => `Editează „${name}”`,
    name: "Numele promptului",
    text: "Text",
    placeholders: "Câmpurile între acolade duble, ca {{oraș}}, sunt selectate ca să le completezi.",
    remove: "Șterge promptul",
  },

  files: {
    search: "Caută un fișier",
    none: "Nu s-a găsit niciun fișier. Ca să păstrezi un fișier, folosește semnul de carte de pe el când îl atașezi.",
    size: (characters) => `caractere: ${characters}`,
    remove: (name) => `Șterge ${name}`,
    delete: "Șterge",
    confirm: "Ștergi acest fișier din fișierele tale? Chaturile care îl conțin nu se schimbă.",
  },

  find: {
    title: "Caută în acest chat",
    next: "Următoarea potrivire",
    previous: "Potrivirea anterioară",
    at: (at, total) => `${at} din ${total}`,
    none: "Nu s-a găsit",
  },

  queue: {
    title: "Mesaj în coadă",
    waiting: "În coadă. Se trimite când răspunsul este complet.",
    now: "Trimite acum",
    nowTitle: "Oprește răspunsul și îi păstrează textul",
    held: "Încă netrimis: răspunsul a fost oprit sau s-a încheiat cât timp ai lipsit.",
    files: (count) => plural(count, { one: `${count} fișier`, few: `${count} fișiere`, other: `${count} de fișiere` }),
  },

  reading: {
    progress: (done, total) => `Se citește chatul (tokenuri: ${done} din ${total})`,
    left: (time) => `încă aproximativ ${time}`,
  },

  regenerate: {
    title: "Regenerează cu alte setări",
    note: "Aceste setări se aplică doar acestui răspuns. Un câmp de eșantionare gol folosește setarea chatului; dacă promptul de sistem este gol, răspunsul se scrie fără el.",
    start: "Regenerează",
  },
};
