import { pluralsOf } from "../plurals";
import type { DialogTexts } from "../en/dialogs";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("hr");

/** Croatian texts for the dialogs. */
export const texts: PartialTexts<DialogTexts> = {
  deleted: {
    note: "Vratite razgovor ili ga trajno izbrišite. Razgovori ovdje zauzimaju vašu pohranu.",
    none: "Nema nedavno izbrisanih razgovora.",
    when: (time, left) => `Izbrisano: ${time} · ${left}`,
    left: (days) => plural(days, { one: `preostao je ${days} dan`, few: `preostala su ${days} dana`, other: `preostalo je ${days} dana` }),
    leftToday: "preostalo je manje od dana",
    messages: "Izbrisane poruke",
    restore: "Vrati",
    restoreOf: (title) => `Vrati „${title}”`,
    restoreAll: "Vrati sve",
    erase: "Trajno izbriši",
    eraseOf: (title) => `Trajno izbriši: „${title}”`,
    eraseAll: "Trajno izbriši sve",
    eraseTitle: (title) => `Trajno izbrisati „${title}”?`,
    eraseAllTitle: (count) =>
      plural(count, {
        one: `Trajno izbrisati ${count} razgovor?`,
        few: `Trajno izbrisati ${count} razgovora?`,
        other: `Trajno izbrisati ${count} razgovora?`,
      }),
    eraseText: "To se ne može poništiti.",
    allTitle: "Izbrisati sve razgovore?",
    allText: "Svi razgovori, i arhivirani, premještaju se u „Nedavno izbrisano”. Odatle ih možete vratiti.",
    allAction: "Izbriši sve",
    allMoved: (count) =>
      plural(count, { one: `Izbrisan je ${count} razgovor.`, few: `Izbrisana su ${count} razgovora.`, other: `Izbrisano je ${count} razgovora.` }),
  },

  import: {
    imported: (count) =>
      plural(count, { one: `Uvezen je ${count} razgovor.`, few: `Uvezena su ${count} razgovora.`, other: `Uvezeno je ${count} razgovora.` }),
    skipped: (count) =>
      plural(count, { one: `${count} razgovor već je bio ovdje.`, few: `${count} razgovora već su bila ovdje.`, other: `${count} razgovora već je bilo ovdje.` }),
    notImported: "Ništa nije uvezeno.",
    title: "Uvoz razgovora",
    drop: "Ispustite datoteku ovdje ili je odaberite",
    formats: "Izvoz iz aplikacije Ebb, ChatGPT, Claude, llama.cpp, LibreChat ili Open WebUI: datoteka JSON ili arhiva ZIP koja je sadrži.",
    reading: "Čitanje datoteke…",
    importing: "Uvoz…",
    found: (name, count) => plural(count, { one: `${count} razgovor iz ${name}`, few: `${count} razgovora iz ${name}`, other: `${count} razgovora iz ${name}` }),
    all: "Svi razgovori",
    messages: (count) => plural(count, { one: `${count} poruka`, few: `${count} poruke`, other: `${count} poruka` }),
    branches: (count) => plural(count, { one: `${count} grana`, few: `${count} grane`, other: `${count} grana` }),
    here: "već ovdje",
    leftOut: (parts) => `izostavljeno: ${parts}`,
    kinds: {
      tools: (count) => plural(count, { one: `${count} poruka alata`, few: `${count} poruke alata`, other: `${count} poruka alata` }),
      media: (count) => plural(count, { one: `${count} slika ili snimka`, few: `${count} slike ili snimke`, other: `${count} slika ili snimki` }),
      files: (count) => plural(count, { one: `${count} datoteka`, few: `${count} datoteke`, other: `${count} datoteka` }),
      system: (count) => plural(count, { one: `${count} sistemska poruka`, few: `${count} sistemske poruke`, other: `${count} sistemskih poruka` }),
      failed: (count) => plural(count, { one: `${count} pogreška`, few: `${count} pogreške`, other: `${count} pogrešaka` }),
      other: (count) => plural(count, { one: `${count} drugi dio`, few: `${count} druga dijela`, other: `${count} drugih dijelova` }),
    },
    unreadable: (count) =>
      plural(count, {
        one: `${count} razgovor nije moguće pročitati`,
        few: `${count} razgovora nije moguće pročitati`,
        other: `${count} razgovora nije moguće pročitati`,
      }),
    act: (count) => plural(count, { one: `Uvezi ${count} razgovor`, few: `Uvezi ${count} razgovora`, other: `Uvezi ${count} razgovora` }),
    again: "Odaberi drugu datoteku",
    zip: {
      none: (name) => `Datoteka ${name} ne sadrži conversations.json.`,
      broken: (name) => `Datoteka ${name} oštećena je ili je vrsta ZIP-a koju ovdje nije moguće pročitati. Raspakirajte je i odaberite datoteku JSON.`,
      tooBig: (name) => `Datoteka ${name} prevelika je: najviše 64 MiB JSON-a.`,
    },
  },

  tree: {
    note: "Pune točke označuju prikazane poruke. Odaberite poruku da prikažete njezinu granu.",
    empty: "(prazno)",
  },

  settings: {
    title: "Postavke razgovora",
    system: "Sistemski prompt",
    systemHint: "Kako se model treba ponašati",
    temperature: "Temperatura",
    maxTokens: "Ograničenje tokena",
    topP: "Top p",
    topK: "Top k",
    minP: "Min p",
    repetition: "Kazna za ponavljanje",
    presence: "Kazna za prisutnost",
    frequency: "Kazna za učestalost",
    stop: "Nizovi za zaustavljanje (jedan po retku)",
    seed: "Seed",
    more: "Napredno uzorkovanje",
    window: (tokens) => `Kontekstni prozor: ${tokens} tokena`,
    random: "nasumično",
    noLimit: "nema",
    default: "zadano",
    thinking: "Razmišljanje",
    modes: {
      slow: "Uvijek najprije razmisli",
      auto: "Neka odluči model",
      off: "Odgovori odmah",
    },
    note: "Promjene vrijede od sljedeće poruke. Za prazno polje vrijedi prikazana zadana vrijednost.",
  },

  presets: {
    label: "Skup postavki",
    none: "Odaberite skup…",
    ofNewChats: (name) => `${name} (novi razgovori)`,
    add: "Spremi kao skup…",
    change: "Promijeni skup…",
    remove: "Izbriši skup",
    name: "Naziv skupa",
    default: "Upotrebljavaj za nove razgovore",
    save: "Spremi skup",
  },

  appearance: {
    theme: "Tema",
    themes: {
      system: "Sustav",
      light: "Svijetla",
      dark: "Tamna",
    },
    size: "Veličina teksta",
    language: "Jezik",
    notifications: "Obavijesti",
    notify: "Obavijesti me kad odgovor bude gotov dok je ova kartica skrivena",
    notifyInsecure: "Obavijesti i instalacija Ebba kao aplikacije zahtijevaju HTTPS ili preglednik na računalu poslužitelja.",
    notifyRefused: "Preglednik ne dopušta obavijesti za ovu stranicu.",
    tierMarks: "Označi gdje je svaki razgovor u predmemoriji",
    tierMarksNote: "Što je predmemorija razgovora bliže, to prije počinje sljedeći odgovor.",
  },

  help: {
    title: "Tipkovni prečaci",
    palette: "Pretraži razgovore i naredbe",
    search: "Traži na popisu razgovora",
    new: "Novi razgovor",
    sidebar: "Prikaži ili sakrij popis razgovora",
    send: "Pošalji poruku",
    prompts: "Spremljeni promptovi, u praznoj poruci",
    newline: "Novi redak",
    stop: "Zaustavi odgovor ili zatvori otvorenu ploču",
    walk: "Prethodni ili sljedeći razgovor na popisu",
    undo: "Poništi brisanje ili arhiviranje",
    branches: "Prethodna ili sljedeća verzija, kad je odabrano ‹ ›",
    this: "Ovaj popis",
    change: (action) => `Promijeni tipke: ${action}`,
    press: "Pritisnite nove tipke ili Esc",
    without: (ctrl) => `Držite ${ctrl} i pritisnite slovo ili drugi znak.`,
    occupied: (keys) => `Prečac ${keys} upotrebljavaju preglednik ili tekstna polja. Odaberite druge tipke.`,
    taken: (keys, action) => `Prečac ${keys} već se upotrebljava: ${action}. Odaberite druge tipke.`,
    reset: "Vrati zadane tipke",
  },
};
