/**
 * Call `listener` whenever another tab stores one of these keys in the browser, or erases all of them. Return the function
 * that stops this.
 */
export function whenStored(keys: readonly string[], listener: () => void): () => void {
  const onStored = ({ key }: StorageEvent) => {
    if (key === null || keys.includes(key)) listener();
  };
  addEventListener("storage", onStored);
  return () => removeEventListener("storage", onStored);
}
