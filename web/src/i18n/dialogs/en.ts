/** Texts of the dialogs in English. */
export const en = {
  deleted: {
    note: "Restore a chat, or delete it for good. Chats here count towards your storage.",
    none: "No recently deleted chats.",
    when: (time: string, days: number) =>
      `Deleted ${time} · ${days === 0 ? "less than a day" : days === 1 ? "1 day" : `${days} days`} left`,
    restore: "Restore",
    restoreOf: (title: string) => `Restore “${title}”`,
    erase: "Delete for good",
    eraseOf: (title: string) => `Delete for good: “${title}”`,
    eraseAll: "Delete all for good",
    eraseTitle: (title: string) => `Delete “${title}” for good?`,
    eraseAllTitle: (count: number) => (count === 1 ? "Delete 1 chat for good?" : `Delete ${count} chats for good?`),
    eraseText: "This cannot be undone.",
    allTitle: "Delete all chats?",
    allText: "All chats, including archived ones, move to Recently deleted. You can restore them from there.",
    allAction: "Delete all",
    allMoved: (count: number) => (count === 1 ? "1 chat was deleted." : `${count} chats were deleted.`),
    show: "Show",
  },

  tree: {
    note: "Filled dots mark the messages that are shown. Choose a message to show its branch.",
    empty: "(empty)",
  },

  settings: {
    title: "Chat settings",
    system: "System prompt",
    systemHint: "How the model should behave",
    temperature: "Temperature",
    maxTokens: "Token limit",
    topP: "Top p",
    topK: "Top k",
    minP: "Min p",
    repetition: "Repetition penalty",
    presence: "Presence penalty",
    frequency: "Frequency penalty",
    seed: "Seed",
    more: "Advanced sampling",
    window: (tokens: string) => `Context window: ${tokens} tokens`,
    random: "random",
    noLimit: "none",
    default: "default",
    thinking: "Thinking",
    modes: { slow: "Always think first", auto: "Let the model decide", off: "Answer at once" },
    note: "Changes apply from the next message. An empty field uses the default shown.",
  },

  appearance: {
    theme: "Theme",
    themes: { system: "System", light: "Light", dark: "Dark" },
    size: "Text size",
    sizes: { small: "Small", normal: "Normal", large: "Large" },
    language: "Language",
    tierMarks: "Mark where each chat is cached",
    tierMarksNote: "The nearer a chat's cache, the sooner its next answer begins.",
  },

  help: {
    title: "Keyboard shortcuts",
    search: "Search chats",
    new: "New chat",
    sidebar: "Show or hide the list of chats",
    send: "Send the message",
    newline: "New line",
    stop: "Stop the answer, or close the open panel",
    walk: "Previous or next chat in the list",
    undo: "Undo a deletion or archiving",
    branches: "Previous or next version, on ‹ ›",
    edit: "Save an edited answer",
    this: "This list",
  },
};

export type DialogTexts = typeof en;
