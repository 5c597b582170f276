// Runs ahead of the page's script, in any browser, and so in the JavaScript of old ones. Says that the page cannot start: its
// browser lacks something, or the start failed. The versions are those of web/browsers.json.
(function () {
  var TEXT =
    "Ebb cannot start in this browser. It needs Chrome or Edge 117, Firefox 125 or Safari 17.4, or a later version. If this " +
    "browser is one of them, reload the page.";

  function say() {
    var place = document.getElementById("app");
    if (!place || place.firstChild) return;
    var text = document.createElement("p");
    text.setAttribute("role", "alert");
    text.style.margin = "2em";
    text.appendChild(document.createTextNode(TEXT));
    place.appendChild(text);
  }

  // The newest that the page uses. The page does not start over the text.
  if (!window.Map || !Map.groupBy || !window.HTMLElement || !("popover" in HTMLElement.prototype)) say();
  // Errors of the page's scripts, also of those that cannot be loaded or parsed. Once the page is there, it says more itself.
  window.addEventListener("error", say, true);
  window.addEventListener("unhandledrejection", say);
})();
