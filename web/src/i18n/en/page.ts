/** Step of a start that the page knows, or "load". */
export type StartStep = "download" | "verify" | "convert" | "check" | "compile" | "load";

/** Code of an error of the server, or the status of an error that has no code. */
type RefusalCode =
  | "account_refused"
  | "admin_scope_required"
  | "answer_not_cut"
  | "body_too_complex"
  | "body_too_large"
  | "concurrent_runs_limit"
  | "context_length_exceeded"
  | "conversation_empty"
  | "conversation_locked"
  | "conversations_limit"
  | "deleted_with_another"
  | "engine_error"
  | "head_moved"
  | "internal_error"
  | "invalid_api_key"
  | "invalid_request_error"
  | "items_per_conversation_limit"
  | "login_provider_unavailable"
  | "login_refused"
  | "message_exists"
  | "missing_api_key"
  | "not_ready"
  | "not_resumed"
  | "open_requests_limit"
  | "overloaded"
  | "own_account"
  | "password_length"
  | "person_exists"
  | "prompt_changed"
  | "question_unanswered"
  | "queue_timeout"
  | "request_too_slow"
  | "requests_per_minute_limit"
  | "run_in_progress"
  | "search_too_slow"
  | "second_factor_exists"
  | "second_factor_needed"
  | "server_restart"
  | "share_links_off"
  | "storage_failed"
  | "storage_full"
  | "storage_unavailable"
  | "stored_bytes_limit"
  | "tokens_per_minute_limit"
  | "too_many_connections"
  | "too_many_failed_logins"
  | "too_many_files"
  | "too_many_keys"
  | "too_many_shares"
  | "unknown_format"
  | "version_mismatch"
  | "wrong_code"
  | "wrong_password"
  | "429"
  | "503";

/** Messages of the server's errors. Other codes are possible, too. */
export type Refusals = Record<RefusalCode, string> & Partial<Record<string, string>>;

/**
 * Texts of the page in English. A text with parameters is a function of them. A parameter `said` is a sentence of the server,
 * which is in English. Other languages describe the same state by its code.
 */
export const texts = {
  you: "You",
  ebb: "Ebb",
  cancel: "Cancel",
  close: "Close",
  save: "Save",
  edit: "Edit",
  send: "Send",
  stop: "Stop",
  copy: "Copy",
  copied: "Copied",
  undo: "Undo",
  dismiss: "Dismiss",
  tryAgain: "Try again",
  skip: "Skip the list of chats",
  notCopied: "The browser did not allow copying. Select the text and copy it by hand.",

  chats: {
    list: "Chats",
    open: "Open the list of chats",
    close: "Close the list of chats",
    new: "New chat",
    none: "No chats yet.",
    opening: "Opening the chat",
    pinned: "Pinned",
    today: "Today",
    yesterday: "Yesterday",
    week: "Last 7 days",
    archived: "Archived chats",
    menuOf: (title: string) => `More actions for ${title}`,
    selected: (title: string) => `Select ${title}`,
    notChanged: "The chat was not changed.",
  },

  temporary: {
    title: "Temporary chat",
    note: "A temporary chat is not listed, and the search does not find it. It is deleted 24 hours after its last message.",
    keep: "Keep this chat",
    kept: "The chat is in the list now.",
    remove: "Delete now",
    removed: "The temporary chat was deleted for good.",
    notRemoved: "The chat was not deleted.",
  },

  deleted: {
    title: "Recently deleted",
    all: "Delete all chats…",
  },

  search: {
    field: "Search chats",
    results: "Found",
    count: (count: number) => `${count} found.`,
    titles: "Titles",
    messages: "Messages",
    corrected: "Also found:",
    none: "Nothing found.",
    failed: "Search failed.",
    clear: "Clear the search",
  },

  composer: {
    field: "Message",
    placeholder: "Message Ebb",
    enter: "Enter",
    shiftEnter: "Shift+Enter",
    hint: (send: string, newline: string) => `${send} sends, ${newline} adds a new line`,
    busyHint: (send: string) => `${send} queues the message, Esc stops the answer`,
    queue: "Send when the answer is complete",
  },

  attachments: {
    attach: "Attach files",
    list: "Files of this message",
    remove: (name: string) => `Remove ${name}`,
    pasted: (number: number) => `Pasted text ${number}`,
    insert: "Insert as text",
    reading: "Reading files…",
    kept: "Your files",
    keep: (name: string) => `Keep ${name} in your files`,
    isKept: (name: string) => `${name} is in your files`,
    notKept: "The file was not kept.",
  },

  activity: {
    answering: "Answering",
    unread: "New answer",
  },

  conversation: {
    waitingModel: "Waiting for the model to be ready…",
    waitingServer: "Waiting for the server…",
    answering: "Ebb is answering",
    finished: "Answer finished",
    stopped: "Answer stopped",
    latest: "Jump to the latest message",
    earlier: "Earlier messages",
    later: "Later messages",
    settings: "Chat settings",
    systemPrompt: "System prompt",
    notSent: "Not sent.",
  },

  context: {
    used: (used: string, window: string) => `${used} of ${window} tokens`,
    over: (window: string) => `more than ${window} tokens`,
    title: "How much of the context window this chat and your message fill",
  },

  answer: {
    stopped: "Stopped.",
    interrupted: "Interrupted.",
    cut: "Stopped at the token limit.",
    empty: "The model ended without an answer. Regenerate it, or rephrase your question.",
    onlyThoughts: "The model wrote thoughts, but no answer. Regenerate the answer, or ask for one without thinking.",
    joining: "Connection lost. Reconnecting…",
    copy: "Copy answer",
    again: "Regenerate",
    againWith: "Regenerate with…",
    compare: "Compare answers…",
    merge: "Merge versions",
    merged: (count: number) => `Merged from ${count} answers.`,
    edit: "Edit answer",
    edited: "Edited",
    notEdited: "The edited answer was not saved.",
    continue: "Continue",
    raw: "Raw text",
    formatted: "Formatted text",
    thinking: "Thinking…",
    thoughts: "Thoughts",
    notStarted: "The answer was not started.",
    notStopped: "The answer was not stopped.",
    notContinued: "The answer was not continued.",
    more: "More actions for this answer",
    good: "Good answer",
    bad: "Bad answer",
    ratingNote: (note: string) => `Your feedback: ${note}`,
    notRated: "The rating was not saved.",
    fork: "New chat from here",
    forked: "This chat continues from a copy. The original is unchanged.",
    notForked: "The new chat was not created.",
    remove: "Delete this answer",
    removed: "The answer was deleted, with everything that followed it.",
    notRemoved: "The answer was not deleted.",
    notRestored: "The answer was not restored.",
  },

  question: {
    edit: "Edit question",
    copy: "Copy question",
    field: "Edited question",
    note: "Both versions are kept.",
    answer: "Get an answer",
    showAll: "Show all",
    showLess: "Show less",
    more: "More actions for this question",
    remove: "Delete this and everything after",
    removed: "The question was deleted, with everything that followed it.",
    removeTurn: "Delete this question and its answer",
    removedTurn: "The question and its answer were deleted.",
    notRemoved: "The question was not deleted.",
    notRestored: "The question was not restored.",
  },

  branches: {
    position: (index: number, count: number) => `Version ${index} of ${count}`,
    previous: "Previous version",
    next: "Next version",
    notShown: "The other version was not shown.",
  },

  tree: {
    title: "Branches of this chat",
  },

  /** Texts of each known tier. `off` and `offTodo` are empty where a tier cannot be off. */
  tiers: {
    device: {
      name: "Device memory",
      short: "Device",
      from: "the device",
      mark: "Hot: kept in device memory",
      off: "",
      offTodo: "",
    },
    cpu: {
      name: "CPU memory",
      short: "CPU",
      from: "CPU memory",
      mark: "Warm: kept in CPU memory",
      off: "CPU memory keeps no blocks.",
      offTodo: "Give it memory with --cpu-kv-memory, so that blocks evicted from the device stay close.",
    },
    redis: {
      name: "Redis",
      short: "Redis",
      from: "Redis",
      mark: "Cold: kept in Redis",
      off: "Redis is off.",
      offTodo: "Install redis-server or valkey-server on this machine, or set --redis-url, and restart Ebb.",
    },
    disk: {
      name: "Disk",
      short: "Disk",
      from: "the disk",
      mark: "Cold: kept on the disk",
      off: "The disk keeps no blocks.",
      offTodo: "Give it room with --disk-kv-size, or a folder on a local disk with --disk-kv-dir, and restart Ebb. The cache of conversations then survives restarts.",
    },
  },

  /** Texts of a tier that the page does not know, below CPU memory. */
  otherTier: (name: string) => ({
    name,
    short: name,
    from: `the ${name} tier`,
    mark: `Cold: kept in the ${name} tier`,
    off: `${name} is off.`,
    offTodo: "Turn it on in the server's settings and restart Ebb.",
  }),

  receipt: {
    title: "Where this answer's context came from",
    cached: (share: string, time: string) => `${share} cached · ${time}`,
    restored: (share: string, from: string, time: string) => `${share} restored from ${from} · ${time}`,
    typed: (share: string, from: string, time: string) => `${share} restored from ${from} while you typed · ${time}`,
    computed: (tokens: string, time: string) => `${tokens} computed · ${time}`,
    tokens: (count: number, text: string) => (count === 1 ? "1 token" : `${text} tokens`),
    under: (time: string) => `under ${time}`,
    notLoaded: "The details could not be loaded.",
  },

  login: {
    title: "Log in",
    initialPassword: "An administrator gave you this password. Choose one of your own.",
    choose: "Choose a password",
    later: "Later",
  },

  /** Titles of views whose texts are loaded with them. */
  views: {
    settings: "Settings",
    account: "Account",
    palette: "Search and commands",
    admin: "People and limits",
    unknown: "Nothing here",
  },

  appearance: {
    title: "Appearance",
  },

  help: {
    open: "Keyboard shortcuts",
  },

  welcome: {
    promise: "A conversation here never pays twice for the same tokens.",
    prompts: [
      "Explain in three short paragraphs why the sea has tides",
      "Write a Python function that finds the longest word in a text",
      "Give me a packing list for a weekend of sailing",
    ],
    runs: (model: string, where: string) => `${model} runs on ${where}.`,
    devices: { cpu: "this machine's CPU", cuda: "this machine's GPU", npu: "an NPU" } as Record<string, string>,
    recent: "Recent chats",
    better: (name: string) => `A better model for this machine: ebb pull ${name}`,
  },

  live: {
    title: "Live",
    open: "Live numbers of the server",
    notLoaded: "This page could not be loaded.",
  },

  server: {
    unreachable: "Server unreachable, trying again…",
    loading: (said: string, _step: StartStep, figure: string) => said || `The model is being loaded ${figure}`.trim(),
    stopping: "The server is stopping; Ebb continues when it is back.",
    recovering: "The model's processes are being restarted; requests will wait.",
    slower: (said: string) => `Answers are slower than they could be: ${said}`,
    degraded: (said: string, _code: string) => `Chats cannot be stored right now. ${said}`,
    restarting: "The server is restarting.",
    failed: (said: string) => `The model could not be loaded. ${said || "The server's log says why."}`,
  },

  errors: {
    unreachable: "The server cannot be reached.",
    seeRunning: "Make sure that Ebb is running, then try again.",
    page: "Something went wrong on this page.",
    reload: "Reload it and try again.",
    status: (status: number) => `The server responded with status ${status}.`,
    unfinished: "The answer could not be completed.",
    tooLong: "Start a new chat, or ask for a shorter answer in the settings.",
    signIn: "Reload the page to log in again.",
    refused: (said: string, _code: string) => said,
    missing: "There is no such chat or message.",
    gone: "It may have been deleted in another tab.",
    wait: "Wait a moment, then try again.",
    makeRoom: "Delete chats for good, then try again.",
    twice: "Try again; if it happens again, see the server's log.",
    change: "Change the message or the settings, then try again.",
  },
};

export type Catalogue = typeof texts;
