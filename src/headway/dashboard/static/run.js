// The live page of a run: the report's pictures, which follow server-sent events; logs, reasons, cancel and resume.
"use strict";

const here = location.pathname;
const live = byId("live");
const acts = byId("acts");
const said = make("span", { role: "status" });
let waiting = null; // a drawing that is due
let lastCost = 0;

// --- the data, and what changes in them ---

function whole(found) {
  if (timeline === undefined) {
    begin(found);
    drawGraph();
  } else {
    data = found;
    redraw();
  }
  head();
}

function change(found) {
  if (!data) return;
  for (const [name, value] of Object.entries(found)) {
    if (name === "tasks" || name === "attempts") {
      for (const [column, cells] of Object.entries(value)) {
        if (column !== "at") value.at.forEach((row, place) => { data[name][column][row] = cells[place]; });
      }
    } else if (name === "decisions") data.decisions.push(...value);
    else data[name] = value;
  }
  if ("categories" in found && found.categories.length !== graphed) drawGraph();
  head();
  redraw();
}

// Draw soon, and not so often that the browser does nothing else.
function redraw() {
  if (waiting !== null) return;
  waiting = setTimeout(() => {
    waiting = null;
    const began = performance.now();
    update();
    lastCost = performance.now() - began;
  }, Math.max(100, 10 * lastCost));
}

function head() {
  document.querySelector(".lead").textContent = data.headline;
  document.querySelector("h1").textContent = data.title;
  document.title = `${data.state === "running" ? "▶ " : ""}${data.title} · Headway`;
  live.textContent = data.state;
  live.className = `state ${data.state}`;
  buttons();
}

// --- the graph ---

let graphed = -1;

async function drawGraph() {
  graphed = data.categories.length;
  const place = byId("graph");
  try {
    const answer = await fetch(`${here}/graph`);
    if (!answer.ok) throw new Error((await answer.json()).error);
    const picture = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement;
    place.replaceChildren(place.querySelector("h2"), document.importNode(picture, true));
  } catch (problem) {
    place.replaceChildren(place.querySelector("h2"), make("p", { className: "quiet" }, problem.message));
  }
}

// --- cancel and resume ---

const ACTS = {
  cancel: { words: "Cancel", states: ["running", "interrupted"],
    question: "Stop this run at once? Its running tasks are ended; what succeeded is kept, and the run can be resumed." },
  resume: { words: "Resume", states: ["stopped", "interrupted"],
    question: "Go on with this run in the background? What succeeded stays." },
};

function buttons() {
  if (!csrf) return;
  for (const [name, act] of Object.entries(ACTS)) {
    act.button ??= make("button", { type: "button", onclick: () => confirmed(name, act) }, act.words);
    act.button.hidden = !act.states.includes(data.state);
    if (!act.button.isConnected) acts.append(act.button);
  }
  if (!said.isConnected) acts.append(said);
}

function confirmed(name, act) {
  const dialog = make("dialog", { "aria-label": `${act.words} ${data.title}` });
  const yes = make("button", { type: "button", className: name }, `${act.words} the run`);
  const no = make("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Leave it");
  yes.onclick = async () => {
    dialog.close();
    said.textContent = "…";
    act.button.disabled = true;
    try {
      said.textContent = (await post(`${here}/${name}`)).message;
    } catch (problem) {
      said.textContent = problem.message;
    }
    act.button.disabled = false;
  };
  dialog.onclose = () => { dialog.remove(); act.button.focus(); };
  dialog.append(make("p", {}, act.question), make("div", { className: "controls" }, no, yes));
  document.body.append(dialog);
  dialog.showModal();
}

// --- what a task wrote, and why ---

addToStory = (task) => {
  const place = make("div", { className: "texts" });
  const showing = { stop: () => {} };
  const button = (words, show) => {
    const made = make("button", { type: "button", "aria-pressed": "false" }, words);
    made.onclick = () => {
      showing.stop();
      for (const other of bar.children) other.setAttribute("aria-pressed", String(other === made));
      showing.stop = show(place);
    };
    return made;
  };
  const bar = make("div", { className: "controls tabs" }, button("Why", (box) => reasons(task, box)),
    button("Output", (box) => tail(task, "stdout", box)), button("Errors", (box) => tail(task, "stderr", box)));
  return [bar, place];
};

function reasons(task, box) {
  const text = make("pre", { className: "text", tabIndex: 0 }, "…");
  text.setAttribute("aria-label", `Why, for ${tasks.id[task]}`);
  box.replaceChildren(text);
  const width = Math.floor(Math.min(box.clientWidth, 1100) / 8);
  ask(`${here}/tasks/${task}/why?width=${Math.max(38, width)}`)
    .then((found) => { text.textContent = found.text; }, (problem) => { text.textContent = problem.message; });
  return () => {};
}

// Follow what an attempt writes, while it is shown.
function tail(task, stream, box) {
  const text = make("pre", { className: "text log", tabIndex: 0 });
  const note = make("p", { className: "quiet" }, "…");
  text.setAttribute("aria-label", `${stream} of ${tasks.id[task]}`);
  box.replaceChildren(note, text);
  let [after, attempt, over, timer, left] = [0, 0, false, null, 0];
  const look = async () => {
    try {
      const found = await ask(`${here}/tasks/${task}/log?stream=${stream}&after=${after}${attempt ? `&attempt=${attempt}` : ""}`);
      if (over === null) return;
      const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
      if (found.begin !== after) {
        text.textContent = "";
        left = found.begin;
      }
      if (found.text) text.append(found.text);
      if (atEnd) text.scrollTop = text.scrollHeight;
      [after, attempt, over] = [found.size, found.attempt, found.over];
      const shown = left ? `the last ${bytes(found.size - left)} of ${bytes(found.size)}` : bytes(found.size);
      note.textContent = `${stream} of attempt ${found.attempt}, run ${found.run}: ${shown}${over ? "" : "; it goes on"}`;
    } catch (problem) {
      note.textContent = problem.message;
    }
    if (!over && over !== null && box.isConnected) timer = setTimeout(look, 1500);
  };
  look();
  return () => { over = null; clearTimeout(timer); };
}

listen(`${here}/events`, {
  whole,
  change,
  trouble: (words) => {
    live.textContent = words || "this run cannot be read";
    live.className = "state failed";
    if (data) setTimeout(() => location.reload(), 15000); // it could be read before: try again
    drawn();
  },
}, (there) => {
  if (!there) { live.textContent = "the server does not answer; the run does not need it"; live.className = "state"; } else if (data) head();
});
