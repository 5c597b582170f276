/** Return an id for a message. The page chooses it, so that sending a message twice asks once. */
export function newMessageId(): string {
  return `msg_${randomDigits()}`;
}

/** Return an id for a chat. The page chooses it, so that creating a chat twice makes one. */
export function newConversationId(): string {
  return `conv_${randomDigits()}`;
}

/** Return 32 random hexadecimal digits. */
export function randomDigits(): string {
  // Browsers offer no randomUUID to a page loaded over plain HTTP from another machine.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
