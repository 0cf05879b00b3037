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

  // Copy the id beside the button; without this the id is there to be selected.
  document.documentElement.classList.add("scripted");
  document.addEventListener("click", function (event) {
    var button = event.target.closest(".copy");
    if (!button || !navigator.clipboard) { return; }
    navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent).then(
      function () { button.classList.add("copied"); }
    );
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

  // Copy what is shown only once; without JavaScript it can be marked and copied by hand.
  document.querySelectorAll("[data-copies]").forEach(function (button) {
    if (!navigator.clipboard) { return; }
    var shown = document.getElementById(button.dataset.copies);
    button.hidden = false;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(shown.value).then(
        function () { button.textContent = button.dataset.done; },
        function () { shown.select(); }
      );
    });
  });
})();

// The list: keys, the selection of a whole page, and orders that need no button.
(function () {
  "use strict";

  const keys = document.getElementById("keys");
  if (!keys) { return; }

  // Reading aloud and dictating also press single keys: who does not want them can switch them off.
  const wanted = document.getElementById("keys-on");
  try {
    wanted.checked = localStorage.getItem("keys") !== "off";
    wanted.addEventListener("change", function () {
      localStorage.setItem("keys", wanted.checked ? "on" : "off");
    });
  } catch { /* A browser that remembers nothing uses them. */ }

  const opener = document.querySelector("[data-opens='keys']");
  if (opener) {
    opener.hidden = false;
    opener.addEventListener("click", function () { keys.showModal(); });
  }

  document.querySelectorAll("select[data-submits]").forEach(function (select) {
    select.addEventListener("change", function () { select.form.requestSubmit(); });
  });

  // One box for all boxes of the page; half ticked while only some are.
  function boxes() {
    return Array.from(document.querySelectorAll("tbody input[name='invoice']"));
  }
  const every = document.querySelector("[data-selects='invoice']");
  function tell() {
    const all = boxes();
    const ticked = all.filter(function (box) { return box.checked; }).length;
    every.checked = ticked > 0 && ticked === all.length;
    every.indeterminate = ticked > 0 && ticked < all.length;
  }
  if (every) {
    every.closest("label").hidden = false;
    every.addEventListener("change", function () {
      const ticked = every.checked;
      const changed = boxes().filter(function (box) { return box.checked !== ticked; });
      changed.forEach(function (box) { box.checked = ticked; });
      changed.forEach(function (box) { box.dispatchEvent(new Event("change", { bubbles: true })); });
    });
    document.addEventListener("change", function (event) {
      if (event.target.name === "invoice") { tell(); }
    });
    // A browser that goes back ticks again what was ticked.
    window.addEventListener("pageshow", tell);
  }

  function rows() {
    return Array.from(document.querySelectorAll(".listed tbody tr"));
  }
  function current() {
    return document.activeElement.closest(".listed tbody tr");
  }
  function go(row) {
    const link = row && row.querySelector(".number a");
    if (!link) { return; }
    link.focus();
    row.scrollIntoView({ block: "nearest" });
  }
  function move(step) {
    const all = rows();
    const here = all.indexOf(current() || document.querySelector(".listed tbody tr:target"));
    if (here < 0) { go(step > 0 ? all[0] : all[all.length - 1]); } else { go(all[here + step]); }
  }
  function press(selector) {
    const found = current() && current().querySelector(selector);
    if (found) { found.click(); }
    return Boolean(found);
  }
  function search() {
    const field = document.getElementById("search");
    if (field) { field.focus(); field.select(); }
    return Boolean(field);
  }

  // Each says whether it did something; what did nothing is left to the browser.
  const doings = {
    j: function () { move(1); return true; },
    k: function () { move(-1); return true; },
    ArrowDown: function () { return Boolean(current()) && doings.j(); },
    ArrowUp: function () { return Boolean(current()) && doings.k(); },
    x: function () { return press("input[name='invoice']"); },
    s: function () { return press(".action form button"); },
    "/": search,
    "?": function () { keys.showModal(); return true; }
  };

  function isTyping(element) {
    return element.isContentEditable || element.matches("input:not([type='checkbox']), textarea, select");
  }
  document.addEventListener("keydown", function (event) {
    const doing = Object.hasOwn(doings, event.key) && doings[event.key];
    const modified = event.ctrlKey || event.metaKey || event.altKey;
    if (!doing || modified || event.isComposing || event.repeat && event.key === "s") { return; }
    if (!wanted.checked || keys.open || isTyping(event.target)) { return; }
    if (doing()) { event.preventDefault(); }
  });
})();

// The invoice form: ask before what was typed is lost by leaving.
(function () {
  "use strict";

  const form = document.querySelector("form.entry");
  if (!form) { return; }
  let typed = false;
  form.addEventListener("input", function () { typed = true; });
  form.addEventListener("submit", function () { typed = false; });
  window.addEventListener("beforeunload", function (event) {
    if (typed) { event.preventDefault(); }
  });
})();

// The list: a click anywhere in a row opens its invoice, but not the end of marking text.
(function () {
  "use strict";

  document.addEventListener("click", function (event) {
    const row = event.target.closest("table.listed tbody tr");
    const link = row && row.querySelector("th.number a");
    if (!link || event.defaultPrevented || String(window.getSelection())) { return; }
    if (event.target.closest("a, button, input, label, summary, form")) { return; }
    if (event.ctrlKey || event.metaKey) { window.open(link.href, "_blank", "noopener"); }
    else { link.click(); }
  });
})();
