import { mount } from "svelte";

import App from "./App.svelte";
import { createEbb, startEbb } from "./ebb";
import { language } from "./i18n/language.svelte";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/markdown.css";

const target = document.getElementById("app")!;

// public/start.js says there that the browser is too old.
if (target.firstChild === null) {
  await language.load();
  // In tasks of their own: running the script, starting the stores and mounting the page together would delay frames.
  setTimeout(() => {
    const ebb = createEbb();
    startEbb(ebb);
    setTimeout(() => mount(App, { target, props: { ebb } }));
  });
}
