import { createContext } from "svelte";

/** Id of the text around a component, unique in the document. The ids of its footnotes begin with it. */
export const [useTextId, provideTextId] = createContext<string>();
