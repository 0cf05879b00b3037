// What the pages can do without, and is kinder with. Loaded with `defer`; needs no inline script.
(function () {
  "use strict";

  // Say so when the page cannot ask for news any more, and take it back when it can again.
  function trouble(is) {
    document.getElementById("trouble").hidden = !is;
  }
  ["htmx:sendError", "htmx:timeout", "htmx:responseError"].forEach(function (name) {
    document.addEventListener(name, function () { trouble(true); });
  });
  document.addEventListener("htmx:afterRequest", function (event) {
    if (event.detail.successful) { trouble(false); }
  });

  // Close an open menu by Escape, or by a click beside it.
  function close(menu) {
    menu.open = false;
  }
  document.addEventListener("click", function (event) {
    document.querySelectorAll("details.menu[open]").forEach(function (menu) {
      if (!menu.contains(event.target)) { close(menu); }
    });
  });
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") { return; }
    document.querySelectorAll("details.menu[open]").forEach(function (menu) {
      close(menu);
      menu.querySelector("summary").focus();
    });
  });
})();
