// The bar above the list: how many invoices are ticked.
(function () {
  "use strict";
  var bar = document.getElementById("bulk");
  if (!bar) { return; }
  var count = bar.querySelector("[data-bulk-count]");
  var send = bar.querySelector("[data-bulk-send]");

  function boxes() {
    return Array.from(document.querySelectorAll("input[type=checkbox][name=invoice][form=bulk]"));
  }
  function show() {
    var ticked = boxes().filter(function (box) { return box.checked; }).length;
    count.textContent = ticked ? " (" + ticked + ")" : "";
    send.disabled = ticked === 0;
  }
  document.addEventListener("change", function (event) {
    if (event.target.matches("[name=invoice], [data-selects=invoice]")) { show(); }
  });
  // A row that renews itself comes without its tick, and one that was sent without its box; the
  // browser's way back brings ticks that no event tells of.
  document.addEventListener("htmx:afterSwap", show);
  window.addEventListener("pageshow", show);
  show();
})();
