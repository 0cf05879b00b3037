// Where one is comes into sight, in rows of links that are wider than a phone.
(function () {
  "use strict";
  document.querySelectorAll("nav [aria-current]").forEach(function (here) {
    for (var row = here; row.tagName !== "NAV";) {
      row = row.parentElement;
      var place = here.getBoundingClientRect(), frame = row.getBoundingClientRect();
      row.scrollLeft += place.left - frame.left - (frame.width - place.width) / 2;
    }
  });
})();
