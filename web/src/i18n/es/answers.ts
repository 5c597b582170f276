import { pluralsOf } from "../plurals";
import type { AnswerTexts } from "../en/answers";

const plural = pluralsOf("es");

/** Spanish texts for the answer tools. */
export const texts: AnswerTexts = {
  edit: {
    field: "Respuesta editada",
    note: "El próximo mensaje continúa a partir de tu texto. El original se conserva como versión.",
  },

  rating: {
    field: "¿Qué ha fallado?",
    note: "Opcional. Tu comentario se guarda con la respuesta.",
  },

  compare: {
    title: "Comparar respuestas",
    note: "Todas las respuestas se escriben a la vez. Aun con los mismos ajustes pueden ser distintas, salvo que se fije una semilla.",
    kept: "Todas las respuestas quedan en el chat como versiones.",
    column: (index) => `Respuesta ${index}`,
    temperature: (value) => `Temperatura ${value}`,
    topP: (value) => `Top p ${value}`,
    seed: (value) => `Semilla ${value}`,
    add: "Añadir una respuesta",
    remove: (index) => `Quitar la respuesta ${index}`,
    start: "Comparar",
    keep: "Quedarme con esta",
    merge: "Combinar en una respuesta",
    stop: (index) => `Detener la respuesta ${index}`,
    stopAll: "Detener todas",
  },

  prompts: {
    title: "Prompts guardados",
    search: "Buscar un prompt",
    none: "No se han encontrado prompts.",
    empty: "Aún no hay prompts guardados. Guarda un texto con el que sueles empezar tus mensajes: «/» en un mensaje vacío lo mostrará aquí.",
    add: "Nuevo prompt",
    edit: (name) => `Editar «${name}»`,
    name: "Nombre del prompt",
    text: "Texto",
    placeholders: "Los campos entre llaves dobles, como {{ciudad}}, se seleccionan para que los rellenes.",
    remove: "Eliminar prompt",
  },

  files: {
    search: "Buscar un archivo",
    none: "No se han encontrado archivos. Para conservar un archivo, pulsa su marcador al adjuntarlo.",
    size: (characters) => `${characters} caracteres`,
    remove: (name) => `Eliminar ${name}`,
    delete: "Eliminar",
    confirm: "¿Eliminar este archivo de tus archivos? Los chats que lo contienen no cambian.",
  },

  find: {
    title: "Buscar en este chat",
    next: "Coincidencia siguiente",
    previous: "Coincidencia anterior",
    at: (at, total) => `${at} de ${total}`,
    none: "No se encontró",
  },

  queue: {
    title: "Mensaje en cola",
    waiting: "En cola. Se enviará cuando termine la respuesta.",
    now: "Enviar ahora",
    nowTitle: "Detiene la respuesta y conserva su texto",
    held: "Aún no enviado: la respuesta se detuvo, o terminó mientras no estabas.",
    files: (count) => plural(count, { one: `${count} archivo`, other: `${count} archivos` }),
  },

  reading: {
    progress: (done, total) => `Leyendo el chat: ${done} de ${total} tokens`,
    left: (time) => `quedan unos ${time}`,
  },

  models: {
    title: "Modelo",
    menu: (name) => `Modelo: ${name}`,
    states: { loaded: "En memoria", unloaded: "Se carga cuando le preguntas", draining: "Se está descargando de la memoria", failed: "No se pudo cargar" },
    reads: (tokens) => `tiene que leer ${tokens} de este chat`,
    known: "ya ha leído este chat",
    tooLong: "este chat es demasiado largo para él",
    noAnswers: "solo crea embeddings y ordena textos: no puede responder",
  },

  regenerate: {
    title: "Volver a generar con otros ajustes",
    note: "Estos ajustes solo se aplican a esta respuesta. Un campo de muestreo vacío usa el ajuste del chat; si el prompt del sistema está vacío, la respuesta no lleva ninguno.",
    start: "Volver a generar",
  },
};
