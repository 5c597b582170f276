import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("cs");

/** Czech texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Zpráva je příliš dlouhá",
    text: (used, window) => `S touto zprávou by měl chat ${used} tokenů. Model čte méně než ${window}.`,
    farTooLong: (window) => `S touto zprávou je chat mnohem delší než ${window} tokenů, které model čte.`,
    shorten: "Zkraťte ji, nebo:",
    shortenAlone: "Zkraťte ji.",
    remove: (name) => `Odebrat ${name}`,
    leave: (messages) =>
      plural(messages, {
        one: "Odeslat bez první zprávy",
        few: `Odeslat bez prvních ${messages} zpráv`,
        other: `Odeslat bez prvních ${messages} zpráv`,
      }),
    summarize: (messages) =>
      plural(messages, { one: "Shrnout první zprávu", few: `Shrnout první ${messages} zprávy`, other: `Shrnout prvních ${messages} zpráv` }),
    summarizing: "Model píše shrnutí. Zpráva se odešle potom.",
    leaveTitle: "Zůstanou v chatu, ale model už je neuvidí.",
    move: "Zeptat se v novém chatu",
  },

  allSeen: "Odsud model znovu vidí všechny zprávy.",
  leftOut: (messages) =>
    plural(messages, {
      one: "Odsud už model nevidí první zprávu.",
      few: `Odsud už model nevidí první ${messages} zprávy.`,
      other: `Odsud už model nevidí prvních ${messages} zpráv.`,
    }),

  summary: "Shrnutí",
  summarized: (messages) =>
    plural(messages, {
      one: "Odsud model vidí shrnutí první zprávy.",
      few: `Odsud model vidí shrnutí prvních ${messages} zpráv.`,
      other: `Odsud model vidí shrnutí prvních ${messages} zpráv.`,
    }),

  overflow: {
    server: "Tato zpráva je pro server příliš velká, proto zůstane jen v tomto prohlížeči. Zkraťte ji, nebo vynechte některý soubor.",
    browser: "Tato zpráva je příliš velká na to, aby se uchovala do odeslání. Když stránku zavřete nebo znovu načtete, ztratí se.",
  },

  notRead: (name) => `Soubor ${name} nebyl přečten.`,

  unreadable: {
    tooBig: (name) => `Soubor ${name} obsahuje víc než 512 KiB textu. Přiložte jen důležitou část.`,
    tooBigPdf: (name) => `Soubor ${name} je větší než 32 MiB. Přiložte jen důležitou část.`,
    noText: (name) => `${name} není textový soubor, PDF, docx, xlsx, pptx ani epub. Model čte pouze text: dokument uložte v jednom z těchto formátů.`,
    old: (name) => `Soubor ${name} je ve starém kancelářském formátu. Uložte ho jako docx, xlsx nebo pptx a přiložte.`,
    empty: (name) => `Soubor ${name} neobsahuje text. U obrázků s textem je nejdřív potřeba text rozpoznat.`,
    tooCostly: (name) => `Čtení souboru ${name} vyžaduje příliš mnoho paměti nebo času. Přiložte jen důležitou část.`,
    scanned: (name) => `Soubor ${name} neobsahuje text, jen naskenované stránky. Nejdřív v něm rozpoznejte text.`,
    encrypted: (name) => `Soubor ${name} je chráněný heslem. Uložte kopii bez hesla a přiložte ji.`,
    broken: (name) => `Soubor ${name} je poškozený a nelze ho přečíst. Uložte nebo stáhněte ho znovu.`,
    gone: (name) => `${name} nelze otevřít. Pokud jde o složku, vyberte soubory v ní, jinak vyberte soubor znovu.`,
  },
};
