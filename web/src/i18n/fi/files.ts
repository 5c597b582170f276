import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("fi");

/** Finnish texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "Viesti on liian pitkä",
    text: (used, window) => `Viestin kanssa keskustelussa olisi ${used} tokenia. Malli lukee alle ${window}.`,
    farTooLong: (window) => `Viestin kanssa tämä keskustelu on paljon pidempi kuin ${window} tokenia, jotka malli lukee.`,
    shorten: "Lyhennä sitä tai:",
    shortenAlone: "Lyhennä sitä.",
    remove: (name) => `Poista ${name}`,
    leave: (messages) => plural(messages, { one: "Lähetä ilman ensimmäistä viestiä", other: `Lähetä ilman ${messages} ensimmäistä viestiä` }),
    summarize: (messages) => plural(messages, { one: "Tiivistä ensimmäinen viesti", other: `Tiivistä ${messages} ensimmäistä viestiä` }),
    summarizing: "Malli kirjoittaa tiivistelmää. Viesti lähetetään sen jälkeen.",
    leaveTitle: "Ne jäävät keskusteluun, mutta malli ei enää näe niitä.",
    move: "Kysy uudessa keskustelussa",
  },

  allSeen: "Tästä alkaen malli näkee taas kaikki viestit.",
  leftOut: (messages) => plural(messages, { one: "Tästä alkaen malli ei enää näe ensimmäistä viestiä.", other: `Tästä alkaen malli ei enää näe ${messages} ensimmäistä viestiä.` }),

  summary: "Tiivistelmä",
  summarized: (messages) => plural(messages, { one: "Tästä alkaen malli näkee tiivistelmän ensimmäisestä viestistä.", other: `Tästä alkaen malli näkee tiivistelmän ${messages} ensimmäisestä viestistä.` }),

  overflow: {
    server: "Viesti on liian suuri palvelimelle, joten se pysyy vain tässä selaimessa. Lyhennä sitä tai jätä jokin tiedosto pois.",
    browser: "Viesti on liian suuri säilytettäväksi lähetykseen asti. Se katoaa, kun suljet sivun tai lataat sen uudelleen.",
  },

  notRead: (name) => `Tiedostoa ${name} ei luettu.`,

  unreadable: {
    tooBig: (name) => `Tiedostossa ${name} on yli 512 KiB tekstiä. Liitä vain tarpeellinen osa.`,
    tooBigPdf: (name) => `${name} on suurempi kuin 32 MiB. Liitä vain tarpeellinen osa.`,
    noText: (name) => `${name} ei ole tekstitiedosto, PDF, docx, xlsx, pptx eikä epub. Malli lukee vain tekstiä: tallenna asiakirja johonkin näistä muodoista.`,
    old: (name) => `${name} on vanhassa Office-muodossa. Tallenna se docx-, xlsx- tai pptx-tiedostona ja liitä se.`,
    empty: (name) => `Tiedostossa ${name} ei ole tekstiä. Kuvissa oleva teksti on ensin tunnistettava.`,
    tooCostly: (name) => `Tiedoston ${name} lukeminen vie liikaa muistia tai aikaa. Liitä vain tarpeellinen osa.`,
    scanned: (name) => `Tiedostossa ${name} ei ole tekstiä, vain skannattuja sivuja. Tee sille ensin tekstintunnistus.`,
    encrypted: (name) => `${name} on suojattu salasanalla. Tallenna kopio ilman salasanaa ja liitä se.`,
    broken: (name) => `${name} on vioittunut, eikä sitä voi lukea. Tallenna tai lataa se uudelleen.`,
    gone: (name) => `Kohdetta ${name} ei voi avata. Jos se on kansio, valitse siinä olevat tiedostot; muuten valitse tiedosto uudelleen.`,
  },
};
