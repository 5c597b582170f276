import type { ImportPreview } from "../api/types";

/** Names of the applications whose exports can be imported. */
export const APPLICATIONS: Readonly<Record<ImportPreview["format"], string>> = {
  ebb: "Ebb",
  chatgpt: "ChatGPT",
  claude: "Claude",
  librechat: "LibreChat",
  "llama-cpp": "llama.cpp",
  "open-webui": "Open WebUI",
};
