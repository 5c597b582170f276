// Runs in a sandboxed frame, after Mermaid: draws the diagrams that the page sends, and returns each as an SVG document.
const LIGHT = {
  background: "#fbfdfe",
  primaryColor: "#e3eef2",
  primaryTextColor: "#17222b",
  primaryBorderColor: "#3c7f99",
  lineColor: "#526673",
  secondaryColor: "#eaf3ec",
  tertiaryColor: "#f3f0e8",
  noteBkgColor: "#f6efda",
  noteTextColor: "#17222b",
  noteBorderColor: "#b09a5b",
  ...colours("pie", 1, ["#9cc9da", "#a9d3b0", "#e2cf9a", "#d2b3cd", "#b3c1ea", "#e3bda8", "#a9cdd0", "#c8d69f"]),
};
/** Changes of Mermaid's own dark theme, whose mind maps and pies are nearly black. */
const SCALE = ["#1f5468", "#2c5a3c", "#5c5129", "#563a52", "#33477a", "#6a4535", "#3d5a5e", "#4d5a2f"];
const DARK = {
  background: "#0d1419",
  mainBkg: "#1d3440",
  nodeBorder: "#6fb0c6",
  lineColor: "#9fb0bb",
  ...colours("cScale", 0, SCALE),
  ...colours("cScaleLabel", 0, Array(SCALE.length).fill("#e3e9ec")),
  ...colours("pie", 1, SCALE),
};

/** Return theme variables with a number at their end. */
function colours(name, first, values) {
  return Object.fromEntries(values.map((value, at) => [`${name}${at + first}`, value]));
}

async function draw({ source, dark }) {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    // Labels as SVG text: an image of HTML in SVG is empty in some browsers.
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    fontFamily: "system-ui, sans-serif",
    theme: dark ? "dark" : "base",
    themeVariables: dark ? DARK : LIGHT,
  });
  const { svg } = await mermaid.render("diagram", source);
  const element = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  const [, , width, height] = (element.getAttribute("viewBox") ?? "0 0 600 400").split(/[\s,]+/).map(Number);
  element.setAttribute("width", width);
  element.setAttribute("height", height);
  return { svg: new XMLSerializer().serializeToString(element), width, height };
}

addEventListener("message", async ({ source, data }) => {
  if (source !== parent) return;
  try {
    parent.postMessage({ id: data.id, drawing: await draw(data) }, "*");
  } catch (error) {
    // The first line names the error and its line, and the others repeat the code.
    const [problem] = String(error?.message ?? error).split("\n");
    parent.postMessage({ id: data.id, problem: problem.slice(0, 200) }, "*");
  }
});
parent.postMessage({ id: "ready" }, "*");
