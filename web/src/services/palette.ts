import type { Conversation, SearchResponse } from "./api/types";

/** Command of the palette. */
export interface PaletteAction {
  key: string;
  label: string;
  act: () => void;
}

/** One line of the palette. */
export interface PaletteEntry extends PaletteAction {
  kind: "actions" | "chats" | "messages";
  detail?: string;
}

interface Chats {
  /** Title of a chat without one. */
  untitled: string;
  open: (id: string) => void;
  openMessage: (message: SearchResponse["messages"][number]) => void;
}

const MAX_CHATS = 8;
const MAX_MESSAGES = 8;

/** Return the lines for a query: commands and chats whose names contain all its words, chats and messages that the server found. */
export function entriesOf(
  query: string,
  actions: readonly PaletteAction[],
  chats: readonly Conversation[],
  searched: SearchResponse | null,
  { untitled, open, openMessage }: Chats,
): PaletteEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const listed = chats.filter(({ title }) => matches(title || untitled));
  const others = words.length === 0 ? [] : (searched?.conversations ?? []).filter(({ id }) => listed.every((chat) => chat.id !== id));
  const found = [...listed, ...others]
    .slice(0, MAX_CHATS)
    .map(({ id, title }): PaletteEntry => ({ kind: "chats", key: id, label: title || untitled, act: () => open(id) }));
  const commands = actions.filter(({ label }) => matches(label)).map((action): PaletteEntry => ({ ...action, kind: "actions" }));
  const said = words.length === 0 ? [] : (searched?.messages ?? []).slice(0, MAX_MESSAGES);
  return [
    // Without a query, the recent chats are what a person looks for.
    ...(words.length === 0 ? [...found, ...commands] : [...commands, ...found]),
    ...said.map((message): PaletteEntry => ({
      kind: "messages",
      key: message.message_id,
      label: message.snippet.text,
      detail: message.conversation.title || untitled,
      act: () => openMessage(message),
    })),
  ];
}
