/** Texts of the tools for answers in English. */
export const en = {
  edit: {
    field: "Edited answer",
    note: "The next message continues from your text. The original is kept as a version.",
  },

  queue: {
    title: "Queued message",
    waiting: "Queued. Sent when the answer is complete.",
    held: "Not sent yet: the answer was not completed while you were here.",
    files: (count: number) => (count === 1 ? "1 file" : `${count} files`),
  },

  regenerate: {
    title: "Regenerate with other settings",
    note: "These settings apply to this answer only. An empty field uses the chat's setting.",
    start: "Regenerate",
  },
};

export type AnswerTexts = typeof en;
