// How long a job of some shape would wait.
"use strict";

const form = byId("shape");
const answer = byId("answer");
const others = byId("shapes");
const long = (seconds) => (seconds === null ? "never: it does not fit" : seconds < 1 ? "at once" : duration(seconds));

form.onsubmit = (event) => {
  event.preventDefault();
  answer.textContent = "asking Slurm…";
  const asked = new URLSearchParams(new FormData(form));
  ask(`/queue/wait?${asked}`).then(show, (problem) => { answer.textContent = problem.message; others.replaceChildren(); }).finally(drawn);
};

function show(found) {
  const { asked } = found;
  answer.textContent = asked.wait_s === null ? `A job like this does not fit into ${asked.partition}.`
    : `It would start ${asked.wait_s < 1 ? "at once" : `after about ${duration(asked.wait_s)}`}, in ${asked.partition}.`;
  const rows = found.waits;
  others.replaceChildren(make("h2", {}, "Other shapes"),
    make("p", { className: "quiet" }, `${found.cluster}, ${found.partition}: ${found.taken} of ${found.machine} ${found.counts} taken, ${found.jobs_waiting} jobs waiting`));
  new LongTable(others, "shapes", [
    { title: "nodes", wide: "15%", of: (row) => row.nodes },
    { title: "cores", wide: "15%", of: (row) => row.cores },
    { title: "for", wide: "20%", of: (row) => row.walltime_s, words: duration },
    { title: "wait", wide: "25%", of: (row) => row.wait_s, words: long },
    { title: "partition", text: true, of: (row) => row.partition },
  ], rows);
}

drawn();
