import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("nl");

/** Dutch texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Bewerkt antwoord",
    note: "Het volgende bericht gaat verder op jouw tekst. Het origineel blijft als versie bewaard.",
  },

  rating: {
    field: "Wat was er mis?",
    note: "Optioneel. Je feedback wordt bij het antwoord bewaard.",
  },

  compare: {
    title: "Antwoorden vergelijken",
    note: "Alle antwoorden worden tegelijk geschreven. Ook met dezelfde instellingen kunnen ze verschillen, tenzij er een seed is ingesteld.",
    kept: "Elk antwoord blijft als versie in de chat.",
    column: (index) => `Antwoord ${index}`,
    temperature: (value) => `Temperatuur ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Seed ${value}`,
    add: "Antwoord toevoegen",
    remove: (index) => `Antwoord ${index} verwijderen`,
    start: "Vergelijken",
    keep: "Dit antwoord houden",
    merge: "Samenvoegen tot één antwoord",
    stop: (index) => `Antwoord ${index} stoppen`,
    stopAll: "Alles stoppen",
  },

  prompts: {
    title: "Opgeslagen prompts",
    search: "Prompt zoeken",
    none: "Geen prompts gevonden.",
    empty: "Nog geen opgeslagen prompts. Sla een tekst op waarmee je berichten vaak begint: met ‘/’ in een leeg bericht vind je die hier terug.",
    add: "Nieuwe prompt",
    edit: (name) => `‘${name}’ bewerken`,
    name: "Naam van de prompt",
    text: "Tekst",
    placeholders: "Tijdelijke aanduidingen tussen dubbele accolades, zoals {{stad}}, worden geselecteerd zodat je ze kunt invullen.",
    remove: "Prompt verwijderen",
  },

  files: {
    search: "Bestand zoeken",
    none: "Geen bestanden gevonden. Gebruik bij het toevoegen de bladwijzer op een bestand om het te bewaren.",
    size: (characters) => `${characters} tekens`,
    remove: (name) => `${name} verwijderen`,
    delete: "Verwijderen",
    confirm: "Dit bestand uit je bestanden verwijderen? Chats waarin het voorkomt, blijven zoals ze zijn.",
  },

  find: {
    title: "Zoeken in deze chat",
    next: "Volgende resultaat",
    previous: "Vorige resultaat",
    at: (at, total) => `${at} van ${total}`,
    none: "Niet gevonden",
  },

  queue: {
    title: "Bericht in de wachtrij",
    waiting: "In de wachtrij. Wordt verzonden zodra het antwoord klaar is.",
    now: "Nu verzenden",
    nowTitle: "Stopt het antwoord en bewaart de tekst ervan",
    held: "Nog niet verzonden: het antwoord is gestopt, of was klaar terwijl je weg was.",
    files: (count) => plural(count, { one: "1 bestand", other: `${count} bestanden` }),
  },

  reading: {
    progress: (done, total) => `De chat wordt gelezen: ${done} van ${total} tokens`,
    left: (time) => `nog circa ${time}`,
  },

  regenerate: {
    title: "Opnieuw genereren met andere instellingen",
    note: "Deze instellingen gelden alleen voor dit antwoord. Voor een leeg samplingveld geldt de instelling van de chat; is de systeemprompt leeg, dan heeft het antwoord er geen.",
    start: "Opnieuw genereren",
  },
};
