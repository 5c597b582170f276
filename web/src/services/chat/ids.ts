/** An id for a message, chosen here so that sending it again cannot ask twice. */
export function newMessageId(): string {
  return `msg_${randomDigits()}`;
}

/** 32 random hexadecimal digits. */
export function randomDigits(): string {
  // Not randomUUID: a page that came over plain HTTP from another machine has none.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
