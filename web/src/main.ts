import { mount } from "svelte";

import App from "./App.svelte";
import { createEbb } from "./ebb";
import { language } from "./i18n/language.svelte";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/markdown.css";

await language.load();
// In a task of its own: running the script and mounting the page together would take longer than a frame.
setTimeout(() => mount(App, { target: document.getElementById("app")!, props: { ebb: createEbb() } }));
