/** Half of a character that takes two units of UTF-16, without its other half. */
const LONE_HALF = /\p{Surrogate}/gu;

/** Return a text that every decoder accepts: a replacement character stands for each lone half of a character. */
export function wholeCharacters(text: string): string {
  return text.replaceAll(LONE_HALF, "\ufffd");
}

/** Return the beginning of a text, at most `length` units of UTF-16, without a character that would be cut in two. */
export function beginningOf(text: string, length: number): string {
  const cuts = /[\ud800-\udbff]/.test(text.charAt(length - 1)) && /[\udc00-\udfff]/.test(text.charAt(length));
  return text.slice(0, cuts ? length - 1 : length);
}
