import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("lt");

/** Lithuanian texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Žinutė per ilga",
    text: (used, window) => `Su šia žinute pokalbyje būtų ${used} žetonų. Modelis skaito mažiau nei ${window}.`,
    farTooLong: (window) => `Su šia žinute pokalbis daug ilgesnis už ${window} žetonų, kuriuos skaito modelis.`,
    shorten: "Sutrumpinkite ją arba:",
    shortenAlone: "Sutrumpinkite ją.",
    remove: (name) => `Pašalinti ${name}`,
    leave: (messages) =>
      messages === 1
        ? "Siųsti be pirmosios žinutės"
        : plural(messages, {
            one: `Siųsti be pirmųjų ${messages} žinutės`,
            few: `Siųsti be pirmųjų ${messages} žinučių`,
            other: `Siųsti be pirmųjų ${messages} žinučių`,
          }),
    summarize: (messages) =>
      messages === 1
        ? "Apibendrinti pirmąją žinutę"
        : plural(messages, {
            one: `Apibendrinti pirmąsias ${messages} žinutę`,
            few: `Apibendrinti pirmąsias ${messages} žinutes`,
            other: `Apibendrinti pirmąsias ${messages} žinučių`,
          }),
    summarizing: "Modelis rašo santrauką. Po to žinutė bus išsiųsta.",
    leaveTitle: "Jos lieka pokalbyje, bet modelis jų nebemato.",
    move: "Klausti naujame pokalbyje",
  },

  allSeen: "Nuo čia modelis vėl mato visas žinutes.",
  leftOut: (messages) =>
    messages === 1
      ? "Nuo čia modelis nebemato pirmosios žinutės."
      : plural(messages, {
          one: `Nuo čia modelis nebemato pirmųjų ${messages} žinutės.`,
          few: `Nuo čia modelis nebemato pirmųjų ${messages} žinučių.`,
          other: `Nuo čia modelis nebemato pirmųjų ${messages} žinučių.`,
        }),

  summary: "Santrauka",
  summarized: (messages) =>
    messages === 1
      ? "Nuo čia modelis mato pirmosios žinutės santrauką."
      : plural(messages, {
          one: `Nuo čia modelis mato pirmųjų ${messages} žinutės santrauką.`,
          few: `Nuo čia modelis mato pirmųjų ${messages} žinučių santrauką.`,
          other: `Nuo čia modelis mato pirmųjų ${messages} žinučių santrauką.`,
        }),

  overflow: {
    server: "Ši žinutė serveriui per didelė, todėl lieka tik šioje naršyklėje. Sutrumpinkite ją arba pašalinkite kurį nors failą.",
    browser: "Ši žinutė per didelė, kad būtų saugoma iki išsiuntimo. Uždarius arba iš naujo įkėlus puslapį ji dings.",
  },

  notRead: (name) => `Failas ${name} neperskaitytas.`,

  unreadable: {
    tooBig: (name) => `Faile ${name} daugiau kaip 512 KiB teksto. Pridėkite tik svarbią dalį.`,
    tooBigPdf: (name) => `Failas ${name} didesnis nei 32 MiB. Pridėkite tik svarbią dalį.`,
    noText: (name) => `${name} nėra tekstinis failas, PDF, docx, xlsx, pptx ar epub. Modelis skaito tik tekstą: dokumentą išsaugokite vienu iš šių formatų.`,
    old: (name) => `Failas ${name} yra seno raštinės programų formato. Išsaugokite jį kaip docx, xlsx ar pptx ir pridėkite.`,
    empty: (name) => `Faile ${name} nėra teksto. Teksto vaizdams pirmiausia reikia teksto atpažinimo.`,
    tooCostly: (name) => `Failui ${name} perskaityti reikia per daug atminties arba laiko. Pridėkite tik svarbią dalį.`,
    scanned: (name) => `Faile ${name} nėra teksto, tik nuskaityti puslapiai. Pirmiausia atpažinkite jo tekstą.`,
    encrypted: (name) => `Failas ${name} apsaugotas slaptažodžiu. Išsaugokite kopiją be slaptažodžio ir pridėkite ją.`,
    broken: (name) => `Failas ${name} sugadintas ir jo perskaityti negalima. Išsaugokite arba atsisiųskite jį iš naujo.`,
    gone: (name) => `${name} atverti nepavyksta. Jei tai aplankas, pasirinkite jame esančius failus, kitaip pasirinkite failą iš naujo.`,
  },
};
