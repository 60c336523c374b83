// Pages work without this script. With it a page renews itself when its session goes on, a
// search goes on by itself, and a plan follows its slider.
"use strict";

// swap replaces a part of the page by the same part of a page that was fetched.
function swap(text, selector) {
  const next = new DOMParser().parseFromString(text, "text/html").querySelector(selector);
  const now = document.querySelector(selector);
  if (!next || !now) return;
  const open = [...now.querySelectorAll("details")].map((d) => d.open);
  now.replaceChildren(...next.childNodes);
  now.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
}

async function load(url, signal) {
  const r = await fetch(url, { signal, credentials: "same-origin" });
  return r.ok ? r.text() : "";
}

// more goes on with a search that showed what it found in its first moment.
async function more() {
  const link = document.querySelector("a[data-more]");
  if (link) link.textContent = "Searching on …";
  const text = link ? await load(link.href).catch(() => "") : "";
  if (!text) return;
  const next = new DOMParser().parseFromString(text, "text/html");
  document.getElementById("results").append(...next.querySelectorAll(".found"));
  for (const id of ["searched", "older"]) document.getElementById(id).replaceWith(next.getElementById(id));
  more();
}
more();

const live = document.body.dataset.live;
if (live) {
  const status = document.getElementById("live");
  let was = "";
  const follow = async () => {
    const now = document.hidden ? was : await load(live).catch(() => "");
    const inside = document.activeElement && document.activeElement.matches("main input, main select, main pre");
    if (was && now && now !== was && !inside) swap(await load(location.href).catch(() => ""), "main");
    was = now || was;
    status.textContent = now ? "Live" : "";
    if (now) document.body.dataset.state = "live";
    setTimeout(follow, 1000);
  };
  follow();
}

const form = document.querySelector("form[data-auto]");
if (form) {
  const shown = document.getElementById("shown");
  const slider = document.getElementById("budget");
  let wait = 0, asked = null;
  const ask = async () => {
    const url = form.action + "?" + new URLSearchParams(new FormData(form));
    if (asked) asked.abort();
    asked = new AbortController();
    document.getElementById("result").setAttribute("aria-busy", "true");
    try {
      const text = await load(url, asked.signal);
      if (text) { swap(text, "#result"); history.replaceState(null, "", url); }
      document.getElementById("result").removeAttribute("aria-busy");
    } catch { /* a later one was asked for */ }
  };
  slider.addEventListener("input", () => {
    shown.textContent = Number(slider.value).toLocaleString("en");
    clearTimeout(wait);
    wait = setTimeout(ask, 150);
  });
  form.addEventListener("submit", (e) => { e.preventDefault(); ask(); });
}
