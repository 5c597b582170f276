import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("pl");

/** Polish texts for the answer tools. */
export const texts: PartialTexts<AnswerTexts> = {
  edit: {
    field: "Zmieniona odpowiedź",
    note: "Następna wiadomość nawiąże do twojego tekstu. Oryginał pozostanie jako wersja.",
  },

  rating: {
    field: "Co było nie tak?",
    note: "Opcjonalnie. Twoja opinia zostanie zapisana przy odpowiedzi.",
  },

  compare: {
    title: "Porównaj odpowiedzi",
    note: "Wszystkie odpowiedzi powstają jednocześnie. Nawet przy tych samych ustawieniach mogą się różnić, chyba że ustawiono ziarno.",
    kept: "Każda odpowiedź pozostaje w czacie jako wersja.",
    column: (index) => `Odpowiedź ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Ziarno ${value}`,
    add: "Dodaj odpowiedź",
    remove: (index) => `Usuń odpowiedź ${index}`,
    start: "Porównaj",
    keep: "Zachowaj tę",
    merge: "Połącz w jedną odpowiedź",
    stop: (index) => `Zatrzymaj odpowiedź ${index}`,
    stopAll: "Zatrzymaj wszystkie",
  },

  prompts: {
    title: "Zapisane prompty",
    search: "Znajdź prompt",
    none: "Nie znaleziono promptów.",
    empty: "Nie ma jeszcze zapisanych promptów. Zapisz tekst, od którego często zaczynasz wiadomości: „/” w pustej wiadomości pokaże go tutaj.",
    add: "Nowy prompt",
    edit: (name) => `Edytuj „${name}”`,
    name: "Nazwa promptu",
    text: "Tekst",
    placeholders: "Pola w podwójnych nawiasach klamrowych, np. {{miasto}}, zostaną zaznaczone do wypełnienia.",
    remove: "Usuń prompt",
  },

  files: {
    search: "Znajdź plik",
    none: "Nie znaleziono plików. Aby zachować plik, kliknij przy nim zakładkę podczas dołączania.",
    size: (characters) => `znaki: ${characters}`,
    remove: (name) => `Usuń ${name}`,
    delete: "Usuń",
    confirm: "Usunąć ten plik z twoich plików? Czaty, które go zawierają, pozostaną bez zmian.",
  },

  find: {
    title: "Znajdź w tym czacie",
    next: "Następne trafienie",
    previous: "Poprzednie trafienie",
    at: (at, total) => `${at} z ${total}`,
    none: "Nie znaleziono",
  },

  queue: {
    title: "Wiadomość w kolejce",
    waiting: "W kolejce. Zostanie wysłana, gdy odpowiedź będzie gotowa.",
    now: "Wyślij teraz",
    nowTitle: "Zatrzymuje odpowiedź i zachowuje jej tekst",
    held: "Jeszcze nie wysłano: odpowiedź zatrzymano lub zakończyła się pod nieobecność użytkownika.",
    files: (count) => plural(count, { one: "1 plik", few: `${count} pliki`, other: `${count} plików` }),
  },

  reading: {
    progress: (done, total) => `Czytanie czatu: ${done} z ${total} tokenów`,
    left: (time) => `zostało około ${time}`,
  },

  regenerate: {
    title: "Wygeneruj ponownie z innymi ustawieniami",
    note: "Te ustawienia dotyczą tylko tej odpowiedzi. Puste pole próbkowania oznacza ustawienie czatu, a jeśli prompt systemowy jest pusty, odpowiedź powstaje bez niego.",
    start: "Wygeneruj ponownie",
  },
};
