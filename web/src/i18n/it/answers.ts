import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

/** Italian texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Risposta modificata",
    note: "Il prossimo messaggio parte dal tuo testo. L’originale resta come versione.",
  },

  rating: {
    field: "Che cosa non andava?",
    note: "Facoltativo. Il tuo commento viene conservato con la risposta.",
  },

  compare: {
    title: "Confronta risposte",
    note: "Tutte le risposte vengono scritte insieme. Con le stesse impostazioni possono comunque essere diverse, a meno che non sia impostato un seed.",
    kept: "Ogni risposta resta nella chat come versione.",
    column: (index) => `Risposta ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Aggiungi una risposta",
    remove: (index) => `Rimuovi la risposta ${index}`,
    start: "Confronta",
    keep: "Tieni questa",
    merge: "Unisci in una risposta",
    stop: (index) => `Ferma la risposta ${index}`,
    stopAll: "Ferma tutte",
  },

  prompts: {
    title: "Prompt salvati",
    search: "Cerca un prompt",
    none: "Nessun prompt trovato.",
    empty: "Non ci sono ancora prompt salvati. Salva un testo con cui inizi spesso i messaggi: «/» in un messaggio vuoto lo mostrerà qui.",
    add: "Nuovo prompt",
    edit: (name) => `Modifica «${name}»`,
    name: "Nome del prompt",
    text: "Testo",
    placeholders: "I segnaposto tra doppie graffe, come {{città}}, vengono selezionati perché tu li compili.",
    remove: "Elimina prompt",
  },

  files: {
    search: "Cerca un file",
    none: "Nessun file trovato. Per conservare un file, fai clic sul suo segnalibro quando lo alleghi.",
    size: (characters) => `${characters} caratteri`,
    remove: (name) => `Elimina ${name}`,
    delete: "Elimina",
    confirm: "Eliminare questo file dai tuoi file? Le chat che lo contengono restano come sono.",
  },

  find: {
    title: "Trova in questa chat",
    next: "Corrispondenza successiva",
    previous: "Corrispondenza precedente",
    at: (at, total) => `${at} di ${total}`,
    none: "Nessun risultato",
  },

  queue: {
    title: "Messaggio in coda",
    waiting: "In coda. Sarà inviato quando la risposta è completa.",
    now: "Invia ora",
    nowTitle: "Ferma la risposta e ne conserva il testo",
    held: "Non ancora inviato: la risposta è stata interrotta, o è finita mentre non eri qui.",
    files: (count) => `${count} file`,
  },

  reading: {
    progress: (done, total) => `Lettura della chat: ${done} token su ${total}`,
    left: (time) => `ancora circa ${time}`,
  },

  regenerate: {
    title: "Rigenera con altre impostazioni",
    note: "Queste impostazioni valgono solo per questa risposta. Un campo di campionamento vuoto usa l’impostazione della chat; se il prompt di sistema è vuoto, la risposta non ne ha nessuno.",
    start: "Rigenera",
  },
};
