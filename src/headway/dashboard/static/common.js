// What the dashboard's pages share. All text from runs enters pages as text, never as HTML.
"use strict";

const csrf = document.querySelector("meta[name=csrf]").content; // empty on a page that only shows

// Fetch JSON; an error of the server becomes an Error with its sentence.
async function ask(path, options = {}) {
  const answer = await fetch(path, options);
  const isJson = answer.headers.get("content-type")?.startsWith("application/json");
  const body = isJson ? await answer.json() : { error: (await answer.text()).trim() || answer.statusText };
  if (!answer.ok) throw new Error(body.error ?? answer.statusText);
  return body;
}

const post = (path) => ask(path, { method: "POST", headers: { "x-headway-csrf": csrf } });

// Follow server-sent events while the page is seen: a browser has only six connections for all its tabs.
// `told` hears whether the server is there.
function listen(path, handlers, told) {
  let source;
  const open = () => {
    source = new EventSource(path);
    for (const [name, handle] of Object.entries(handlers)) source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    source.onopen = () => told(true);
    source.onerror = () => told(false);
  };
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) open();
  });
  open();
}

const date = (at) => (at ? new Date(at * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hour12: false }) : "");

function bytes(amount) {
  if (amount === null || amount === undefined) return "";
  if (amount < 1000) return `${amount} B`;
  return amount < 1e6 ? `${Number((amount / 1000).toPrecision(3))} kB` : memory(amount / 1e6);
}

function drawn() { document.documentElement.dataset.drawn = "true"; }
