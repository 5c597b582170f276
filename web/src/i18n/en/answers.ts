/** English texts for the answer tools. */
export const texts = {
  edit: {
    field: "Edited answer",
    note: "The next message continues from your text. The original is kept as a version.",
  },

  rating: {
    field: "What was wrong?",
    note: "Optional. Your feedback is kept with the answer.",
  },

  compare: {
    title: "Compare answers",
    note: "All answers are written at the same time. Answers with the same settings may still differ, unless a seed is set.",
    kept: "Every answer stays in the chat as a version.",
    column: (index: number) => `Answer ${index}`,
    temperature: (value: number) => `Temperature ${value}`,
    topP: (value: number) => `Top p ${value}`,
    seed: (value: number) => `Seed ${value}`,
    add: "Add an answer",
    remove: (index: number) => `Remove answer ${index}`,
    start: "Compare",
    keep: "Keep this one",
    merge: "Merge into one answer",
    stop: (index: number) => `Stop answer ${index}`,
    stopAll: "Stop all",
  },

  prompts: {
    title: "Saved prompts",
    search: "Find a prompt",
    none: "No prompts found.",
    empty: "No saved prompts yet. Save a text that you use often. A “/” in an empty message then offers it.",
    add: "New prompt",
    edit: (name: string) => `Edit “${name}”`,
    name: "Name of the prompt",
    text: "Text",
    placeholders: "Placeholders in double braces, as in {{city}}, are selected for you to fill in.",
    remove: "Delete prompt",
  },

  files: {
    search: "Find a file",
    none: "No files found. To keep a file, attach it and choose its bookmark.",
    size: (characters: string) => `${characters} characters`,
    remove: (name: string) => `Delete ${name}`,
    delete: "Delete",
    confirm: "Delete this file from your files? Chats that contain it stay as they are.",
  },

  find: {
    title: "Find in this chat",
    next: "Next match",
    previous: "Previous match",
    at: (at: string, total: string) => `${at} of ${total}`,
    none: "Not found",
  },

  queue: {
    title: "Queued message",
    waiting: "Queued. Sent when the answer is complete.",
    now: "Send now",
    nowTitle: "Stops the answer and keeps its text",
    held: "Not sent yet: the answer was stopped, or it ended while you were away.",
    files: (count: number) => (count === 1 ? "1 file" : `${count} files`),
  },

  reading: {
    progress: (done: string, total: string) => `Reading the conversation: ${done} of ${total} tokens`,
    left: (time: string) => `about ${time} left`,
  },

  models: {
    title: "Model",
    menu: (name: string) => `Model: ${name}`,
    states: { loaded: "In memory", unloaded: "Loaded when you ask it", draining: "Being unloaded", failed: "Could not be loaded" },
    reads: (tokens: string) => `has to read ${tokens} of this chat`,
    known: "has read this chat",
    tooLong: "this chat is too long for it",
    noAnswers: "embeds and ranks texts, and cannot answer",
  },

  regenerate: {
    title: "Regenerate with other settings",
    note: "These settings apply to this answer only. An empty sampling field uses the chat's setting; an empty system prompt means none.",
    start: "Regenerate",
  },
};

export type AnswerTexts = typeof texts;
