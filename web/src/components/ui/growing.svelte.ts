import type { Attachment } from "svelte/attachments";

/** Grow a field with its text, up to its greatest height. Only browsers without `field-sizing` need it. */
export function growing(text: () => string): Attachment<HTMLTextAreaElement> {
  return (field) => {
    if (CSS.supports("field-sizing", "content")) return;
    $effect(() => {
      void text();
      field.style.height = "auto";
      field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
    });
  };
}
