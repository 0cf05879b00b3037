// Keeps the start page's numbers fresh, and says so when it cannot. The page works without.
"use strict";

const EVERY_MS = 30_000;

async function freshen() {
  const shown = document.getElementById("right-now");
  // Not while nobody looks, nor under somebody's hands.
  if (!shown || document.hidden || shown.contains(document.activeElement)) return;
  try {
    const answer = await fetch(location.href, { redirect: "error" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("right-now");
    if (!answer.ok || !fresh) throw new Error(`answered ${answer.status}`);
    const table = shown.querySelector("details");
    if (table?.open) fresh.querySelector("details")?.setAttribute("open", "");
    shown.replaceWith(fresh);
  } catch {
    shown.querySelector(".right-now-stale").textContent =
      " and not renewed since: reload the page.";
  }
}

setInterval(freshen, EVERY_MS);
document.addEventListener("visibilitychange", freshen);
