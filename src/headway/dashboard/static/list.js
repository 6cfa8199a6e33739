// The list of runs: each row is a run, by its id.
"use strict";

const rows = new Map();
const section = byId("runs");
const status = make("p", { className: "quiet", role: "status" }, "looking for runs…");
section.append(status);
const of = (name) => (id) => rows.get(id)[name];
const columns = [
  { title: "run", text: true, wide: "22%", link: (id) => `/runs/${id}`, of: (id) => `${rows.get(id).name || "unnamed"}, run ${rows.get(id).run}` },
  { title: "state", text: true, wide: "8.5rem", of: of("state"), mark: true },
  { title: "progress", wide: "18%", of: (id) => (rows.get(id).total ? rows.get(id).done / rows.get(id).total : null), cell: progress },
  { title: "started", wide: "16%", of: of("started_at"), words: date },
  { title: "took", wide: "9%", of: of("wall_s"), words: (seconds) => duration(seconds) },
  { title: "where", text: true, of: (id) => rows.get(id).trouble || rows.get(id).where },
];
const table = new LongTable(section, "runs", columns, []);

function progress(id) {
  const row = rows.get(id);
  if (!row.total) return "";
  const bar = make("progress", { max: row.total, value: row.done });
  bar.setAttribute("aria-label", `${row.done} of ${row.total} tasks done`);
  if (row.failed) bar.className = "bad";
  const failed = row.failed ? `, ${row.failed.toLocaleString()} failed` : "";
  return make("span", { className: "progress" }, bar, `${row.done.toLocaleString()} of ${row.total.toLocaleString()}${failed}`);
}

function show() {
  const every = [...rows.keys()].sort((one, other) => rows.get(other).started_at - rows.get(one).started_at);
  table.update(every);
  const running = every.filter((id) => rows.get(id).state === "running").length;
  const words = every.length ? `${running} running` : "Nothing has been run below this folder yet; `headway run` begins a run, and it appears here.";
  if (status.textContent !== words) status.textContent = words;
  drawn();
}

listen("/events", {
  whole: (found) => {
    rows.clear();
    for (const row of found.rows) rows.set(row.id, row);
    show();
    if (found.left_out) status.textContent += "; there are too many folders here, and some were not looked into";
  },
  change: (found) => {
    for (const row of found.rows) rows.set(row.id, row);
    for (const id of found.gone) rows.delete(id);
    show();
  },
}, (there) => { if (!there) status.textContent = "the server does not answer; it may have been ended"; });
