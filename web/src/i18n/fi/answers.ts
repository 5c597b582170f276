import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("fi");

/** Finnish texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Muokattu vastaus",
    note: "Seuraava viesti jatkaa sinun tekstistäsi. Alkuperäinen säilyy versiona.",
  },

  rating: {
    field: "Mikä oli vikana?",
    note: "Vapaaehtoinen. Palautteesi säilytetään vastauksen yhteydessä.",
  },

  compare: {
    title: "Vertaa vastauksia",
    note: "Kaikki vastaukset kirjoitetaan samaan aikaan. Samoillakin asetuksilla vastaukset voivat erota toisistaan, ellei siemenlukua ole asetettu.",
    kept: "Jokainen vastaus jää keskusteluun versiona.",
    column: (index) => `Vastaus ${index}`,
    temperature: (value) => `Lämpötila ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Siemenluku ${value}`,
    add: "Lisää vastaus",
    remove: (index) => `Poista vastaus ${index}`,
    start: "Vertaa",
    keep: "Pidä tämä",
    merge: "Yhdistä yhdeksi vastaukseksi",
    stop: (index) => `Pysäytä vastaus ${index}`,
    stopAll: "Pysäytä kaikki",
  },

  prompts: {
    title: "Tallennetut kehotteet",
    search: "Etsi kehote",
    none: "Kehotteita ei löytynyt.",
    empty: "Ei vielä tallennettuja kehotteita. Tallenna teksti, jolla aloitat viestejä usein: kun kirjoitat tyhjään viestiin ”/”, se näkyy tässä.",
    add: "Uusi kehote",
    edit: (name) => `Muokkaa kehotetta ”${name}”`,
    name: "Kehotteen nimi",
    text: "Teksti",
    placeholders: "Kaksinkertaisissa aaltosulkeissa olevat paikkamerkit, kuten {{kaupunki}}, valitaan puolestasi täytettäviksi.",
    remove: "Poista kehote",
  },

  files: {
    search: "Etsi tiedosto",
    none: "Tiedostoja ei löytynyt. Säilytä tiedosto sen kirjanmerkistä, kun liität sen.",
    size: (characters) => `${characters} merkkiä`,
    remove: (name) => `Poista ${name}`,
    delete: "Poista",
    confirm: "Poistetaanko tämä tiedosto omista tiedostoistasi? Keskustelut, joissa se on, pysyvät ennallaan.",
  },

  find: {
    title: "Etsi tästä keskustelusta",
    next: "Seuraava osuma",
    previous: "Edellinen osuma",
    at: (at, total) => `${at} / ${total}`,
    none: "Ei löytynyt",
  },

  queue: {
    title: "Viesti jonossa",
    waiting: "Jonossa. Lähetetään, kun vastaus on valmis.",
    now: "Lähetä nyt",
    nowTitle: "Pysäyttää vastauksen ja säilyttää sen tekstin",
    held: "Ei vielä lähetetty: vastaus pysäytettiin tai päättyi, kun olit poissa.",
    files: (count) => plural(count, { one: "1 tiedosto", other: `${count} tiedostoa` }),
  },

  reading: {
    progress: (done, total) => `Luetaan keskustelua: ${done} / ${total} tokenia`,
    left: (time) => `jäljellä noin ${time}`,
  },

  regenerate: {
    title: "Luo uudelleen muilla asetuksilla",
    note: "Nämä asetukset koskevat vain tätä vastausta. Tyhjässä otantakentässä käytetään keskustelun asetusta; jos järjestelmäkehote on tyhjä, vastaus kirjoitetaan ilman sitä.",
    start: "Luo uudelleen",
  },
};
