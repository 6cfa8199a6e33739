// What earlier runs taught, by category.
"use strict";

const section = byId("history");
const note = make("p", { className: "quiet", role: "status" }, "…");
section.append(note);

ask("/history.json").then((found) => {
  const columns = [
    { title: "workflow", text: true, wide: "17%", of: (row) => row.workflow },
    { title: "category", text: true, wide: "17%", of: (row) => row.category },
    { title: "attempts", wide: "8%", of: (row) => row.observations, words: (number) => number.toLocaleString() },
    { title: "failed", wide: "7%", of: (row) => row.failures },
    { title: "memory", wide: "9%", of: (row) => row.memory_bytes?.median, words: bytes },
    { title: "at most", wide: "9%", of: (row) => row.memory_bytes?.most, words: bytes },
    { title: "time", wide: "8%", of: (row) => row.run_s?.median, words: duration },
    { title: "at most", wide: "8%", of: (row) => row.run_s?.most, words: duration },
    { title: "where", text: true, of: (row) => row.directory || row.project },
  ];
  note.textContent = !found.history ? "The settings say that no history is kept."
    : found.categories.length ? `Medians of attempts that succeeded; from ${found.history}` : `No run has taught anything yet (${found.history}).`;
  if (found.categories.length) new LongTable(section, "categories", columns, found.categories);
}).catch((problem) => { note.textContent = problem.message; }).finally(drawn);
