import { markdownTexts } from "../../i18n/markdown";
import type { FrameContent } from "./frame";

const HTML = '<!doctype html><style>body { margin: 8px; font-family: system-ui, sans-serif }</style><body><div id="root"></div></body>';

/** Component names at the beginning of a line, as in `function App()` and `export const App =`. */
const COMPONENT = /^(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function|class|const|let|var)\s+([A-Z]\w*)/gm;

/**
 * Return the page that shows a React component, given as JSX or TSX. The component is the default export, else `App`, else the
 * last one. Code may also render itself into the element `root`. Rejects with the reason if the code cannot be compiled.
 */
export async function reactPage(code: string): Promise<FrameContent> {
  const [{ transform }, { default: address }] = await Promise.all([import("sucrase"), import("./react_runtime.js?worker&url")]);
  const compiled = transform(code, { transforms: ["jsx", "typescript", "imports"], production: true });
  const response = await fetch(address);
  if (!response.ok) throw new Error(response.statusText);
  return { html: HTML, script: `${await response.text()}\n${programOf(compiled.code, componentsOf(code))}` };
}

/** Return the names of the components in the order in which they are tried. */
export function componentsOf(code: string): string[] {
  const names = [...code.matchAll(COMPONENT)].map((match) => match[1]!).reverse();
  return names.includes("App") ? ["App", ...names.filter((name) => name !== "App")] : names;
}

/** Return the script that runs compiled code, and renders its component. Its texts are in the language of the page. */
function programOf(compiled: string, components: readonly string[]): string {
  const { previewModule, previewEmpty } = markdownTexts();
  const found = components.map((name) => `typeof ${name} === "function" ? ${name} : `).join("");
  return `{
  const fail = (error) => {
    const text = document.createElement("pre");
    text.textContent = String(error?.message ?? error);
    text.style.whiteSpace = "pre-wrap";
    document.body.replaceChildren(text);
  };
  const require = (name) => {
    if (Object.hasOwn(previewModules, name)) return previewModules[name];
    throw new Error(${JSON.stringify(previewModule("{name}"))}.replace("{name}", () => name));
  };
  const module = { exports: {} };
  const React = previewModules.react;
  const ReactDOM = previewModules["react-dom"];
  addEventListener("error", ({ error, message }) => fail(error ?? message));
  addEventListener("unhandledrejection", ({ reason }) => fail(reason));
  try {
    const last = (function (exports) {
${compiled}
      return ${found}undefined;
    })(module.exports);
    const Component = module.exports.default ?? last;
    const root = document.getElementById("root");
    const isRendered = Object.keys(root).some((key) => key.startsWith("__reactContainer"));
    if (typeof Component === "function" && !isRendered) {
      ReactDOM.createRoot(root, { onUncaughtError: fail }).render(React.createElement(Component));
    } else if (!isRendered) fail(${JSON.stringify(previewEmpty)});
  } catch (error) {
    fail(error);
  }
}`;
}
