/** Every sentence of the page. A value that depends on something is a function of it. */
export const en = {
  you: "You",
  ebb: "Ebb",
  cancel: "Cancel",
  close: "Close",
  retry: "Retry",
  edit: "Edit",
  send: "Send",
  copy: "Copy",
  copied: "Copied",

  answer: {
    stopped: "Stopped.",
    interrupted: "Interrupted before its end.",
    cut: "Cut at the limit of tokens.",
    raise: "Raise it in the chat's settings for longer answers.",
    joining: "The connection broke. Joining the answer again…",
    copy: "Copy answer",
    again: "Answer again",
    goOn: "Continue",
    raw: "Raw text",
    rendered: "Formatted text",
    thinking: "Thinking…",
    thoughts: "Thoughts",
    notStarted: "The answer was not started.",
    notStopped: "The answer was not stopped.",
    notContinued: "The answer was not continued.",
  },

  question: {
    edit: "Edit question",
    copy: "Copy question",
    field: "Edited question",
    note: "Both versions are kept.",
  },

  branches: {
    place: (index: number, count: number) => `Version ${index} of ${count}`,
    previous: "Previous version",
    next: "Next version",
    notShown: "The other version was not shown.",
  },
};

export type Words = typeof en;
