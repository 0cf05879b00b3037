// Keeps the page of a delivery that is under way fresh, until it has ended. The page works without.
"use strict";

const EVERY_MS = 10_000;
const renewing = setInterval(freshen, EVERY_MS);

async function freshen() {
  const shown = document.getElementById("content");
  // Not while nobody looks, nor under somebody's hands.
  if (document.hidden || shown.contains(document.activeElement)) return;
  try {
    const answer = await fetch(location.href, { redirect: "error" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("content");
    if (!answer.ok || !fresh) throw new Error(`answered ${answer.status}`);
    shown.replaceWith(fresh);
    if (!page.querySelector("script[data-moving]")) clearInterval(renewing);
  } catch {
    shown.querySelector(".not-renewed").hidden = false;
  }
}
