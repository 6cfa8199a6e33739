// Draws the page of a run from its data. All text from the run enters the page as text, never as HTML.
"use strict";

let data; // what the server or the file says of the run
let tasks;
let attempts;
let triesOf; // by task: its attempts
let addToStory = () => []; // what a live page adds below the story of a task: elements
const byId = (id) => document.getElementById(id);

const colourOf = (category) => data.categories[category].colour;

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value; else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function drawing(tag, properties = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// --- words ---

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds === 0) return "0 s";
  if (seconds < 60) return `${seconds < 0.1 ? seconds.toPrecision(1) : seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const parts = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  const [[large, unit], [small, smaller]] = [parts[first], parts[Math.min(first + 1, 3)]];
  return `${Math.floor(seconds / large)}${unit} ${String(Math.floor((seconds % large) / small)).padStart(2, "0")}${smaller}`;
}

function memory(megabytes) {
  if (megabytes === null || megabytes === undefined) return "";
  return megabytes >= 1000 ? `${Number((megabytes / 1000).toPrecision(3))} GB` : `${Number(megabytes.toPrecision(3))} MB`;
}

const clock = (seconds) => new Date((data.begun_at + seconds) * 1000).toLocaleTimeString([], { hour12: false });
const endOf = (attempt) => attempts.end[attempt] ?? data.until;

// --- what each task went through ---

function take(found) {
  data = found;
  ({ tasks, attempts } = found);
  triesOf = tasks.id.map(() => []);
  attempts.task.forEach((task, attempt) => triesOf[task].push(attempt));
}

function story(task) {
  const lines = [`${tasks.id[task]}: ${data.states[tasks.state[task]]}`];
  if (tasks.ready[task] !== null) lines.push(`could run from ${clock(tasks.ready[task])}`);
  for (const attempt of triesOf[task]) {
    const node = data.nodes[attempts.node[attempt]];
    const used = attempts.used[attempt] === null ? "" : `, used ${memory(attempts.used[attempt])}`;
    const busy = attempts.busy[attempt] === null ? "" : `, ${attempts.busy[attempt]} busy`;
    lines.push(`attempt ${attempts.number[attempt]}${node ? ` on ${node.name}` : ""}, ${clock(attempts.start[attempt])}, `
      + `${duration(endOf(attempt) - attempts.start[attempt])}: ${data.endings[attempts.ending[attempt]]}; `
      + `memory ${memory(attempts.given[attempt])}${used}; cores ${attempts.cores[attempt]}${busy}`);
  }
  return lines.join("\n");
}

// The story of the task that was chosen last in a picture or table.
class Detail {
  constructor(section) {
    this.box = make("div", { className: "detail", role: "status" });
    this.more = make("div");
    section.append(this.box, this.more);
  }

  show(task) {
    this.task = task;
    this.box.textContent = task === undefined ? "" : story(task);
    this.more.replaceChildren(...(task === undefined ? [] : addToStory(task)));
  }

  update() {
    const words = this.task === undefined ? "" : story(this.task);
    if (this.task !== undefined && words !== this.box.textContent) this.box.textContent = words;
  }
}

// --- figures in large print ---

function tiles() {
  byId("tiles").replaceChildren(...data.tiles.map((tile) => make("div", { className: "tile" }, make("b", {}, tile.value),
    make("span", {}, tile.name), make("span", {}, tile.note))));
}

// --- the timeline ---

const tip = make("div", { className: "tip", hidden: true });
document.body.append(tip);

class Timeline {
  constructor(section) {
    this.from = 0;
    this.to = this.whole = Math.max(data.until, 1);
    this.found = () => true;
    this.hidden = new Set();
    this.canvas = make("canvas", { tabIndex: 0, role: "img" });
    this.canvas.setAttribute("aria-label", "Allocations and attempts over time. Arrow keys move, plus and minus zoom, "
      + "0 shows all. The table of tasks below says the same in words.");
    this.rows = make("select", { "aria-label": "Rows" }, make("option", { value: "node" }, "rows: nodes"),
      make("option", { value: "category" }, "rows: categories"));
    this.rows.onchange = () => this.arrange();
    this.search = make("input", { type: "search", placeholder: "find tasks", "aria-label": "Find tasks in the timeline" });
    this.search.oninput = () => { this.find(this.search.value); };
    const zoom = (name, words, act) => make("button", { type: "button", "aria-label": words, onclick: act }, name);
    section.append(make("div", { className: "controls" }, this.search, this.rows,
      zoom("+", "Zoom in", () => this.zoom(0.5)), zoom("−", "Zoom out", () => this.zoom(2)),
      zoom("all", "Show the whole run", () => this.show(0, this.whole))),
    this.legend = make("div", { className: "keys" }), this.canvas,
    make("p", { className: "quiet" }, "A box is an attempt, coloured by category; a red edge marks one without a result. "
      + "Hatched is a job that waits in the queue, and light what is held. Drag or use arrow keys to move, the wheel with "
      + "Ctrl or + and − to zoom; choose a box to read its story."));
    this.detail = new Detail(section);
    this.keys();
    this.listen();
    this.arrange();
  }

  // The run has gone on: a view of the whole stays one.
  update() {
    const whole = this.from === 0 && this.to === this.whole;
    this.whole = Math.max(data.until, 1);
    if (whole) this.to = this.whole;
    this.keys();
    this.detail.update();
    this.arrange();
  }

  keys() {
    const words = data.categories.map((category) => `${category.name} (${category.tasks.toLocaleString()})`);
    if (this.words?.join("\n") === words.join("\n")) return;
    this.words = words;
    this.legend.replaceChildren(...words.map((said, number) => {
      const button = make("button", { type: "button", "aria-pressed": String(!this.hidden.has(number)) },
        make("span", { className: "key" }), said);
      button.firstChild.style.background = colourOf(number);
      button.onclick = () => {
        const hide = !this.hidden.delete(number);
        if (hide) this.hidden.add(number);
        button.setAttribute("aria-pressed", String(!hide));
        this.draw();
      };
      return button;
    }));
  }

  find(words) {
    const wanted = words.toLowerCase();
    this.found = wanted ? (task) => tasks.id[task].toLowerCase().includes(wanted) : () => true;
    this.draw();
  }

  // Every attempt gets a lane, so that attempts that ran side by side lie one above the other.
  arrange() {
    const groups = this.rows.value === "node"
      ? data.jobs.map((job, number) => ({ name: job.name, job, attempts: [], number }))
      : data.categories.map((category) => ({ name: category.name, attempts: [] }));
    attempts.task.forEach((task, attempt) => {
      const place = this.rows.value === "node" ? data.nodes[attempts.node[attempt]]?.job : tasks.category[task];
      groups[place]?.attempts.push(attempt);
    });
    this.lanes = [];
    this.lane = new Int32Array(attempts.task.length).fill(-1);
    for (const group of groups) {
      group.top = this.lanes.length;
      if (group.job) this.lanes.push({ job: group.job });
      const free = [];
      for (const attempt of group.attempts.sort((one, other) => attempts.start[one] - attempts.start[other])) {
        let lane = free.findIndex((end) => end <= attempts.start[attempt] + 1e-9);
        if (lane < 0) lane = free.push(0) - 1;
        free[lane] = endOf(attempt);
        this.lane[attempt] = group.top + (group.job ? 1 : 0) + lane;
      }
      for (let lane = 0; lane < free.length; lane += 1) this.lanes.push({});
    }
    this.groups = groups;
    this.draw();
  }

  listen() {
    const { canvas } = this;
    canvas.onwheel = (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    };
    canvas.onkeydown = (event) => {
      const step = (this.to - this.from) / 8;
      const acts = { ArrowLeft: () => this.show(this.from - step, this.to - step), "0": () => this.show(0, this.whole),
        ArrowRight: () => this.show(this.from + step, this.to + step), "+": () => this.zoom(0.5), "-": () => this.zoom(2) };
      if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
    };
    let grabbed = null;
    canvas.onpointerdown = (event) => {
      grabbed = { x: event.offsetX, from: this.from, to: this.to, moved: false };
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointermove = (event) => {
      if (grabbed && Math.abs(event.offsetX - grabbed.x) > 3) {
        grabbed.moved = true;
        const by = (grabbed.x - event.offsetX) / this.width * (grabbed.to - grabbed.from);
        this.show(grabbed.from + by, grabbed.to + by);
      } else if (!grabbed) this.point(event);
    };
    canvas.onpointerup = (event) => {
      if (grabbed && !grabbed.moved) this.detail.show(attempts.task[this.attemptAt(event)]);
      grabbed = null;
    };
    canvas.onpointerleave = () => { tip.hidden = true; };
    new ResizeObserver(() => this.draw()).observe(canvas);
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", () => this.draw());
  }

  show(from, to) {
    const length = Math.min(this.whole, to - from);
    this.from = Math.min(Math.max(0, from), this.whole - length);
    this.to = this.from + length;
    this.draw();
  }

  zoom(by, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * by, around + (this.to - around) * by);
  }

  timeAt(x) { return this.from + (x - this.left) / this.width * (this.to - this.from); }

  x(at) { return this.left + (at - this.from) / (this.to - this.from) * this.width; }

  attemptAt(event) {
    const at = this.timeAt(event.offsetX);
    const lane = Math.floor((event.offsetY - this.top) / this.tall);
    const near = 2 / this.width * (this.to - this.from);
    return this.lane.findIndex((own, attempt) => own === lane && attempts.start[attempt] - near <= at && endOf(attempt) + near >= at);
  }

  point(event) {
    const attempt = this.attemptAt(event);
    const job = this.lanes[Math.floor((event.offsetY - this.top) / this.tall)]?.job;
    const waited = job && waitOf(job);
    tip.textContent = attempt >= 0 ? story(attempts.task[attempt])
      : job ? [`${job.name}: ${job.asks}`, waited > 0 ? `waited ${duration(waited)}` : "", job.why].filter(Boolean).join("\n") : "";
    tip.hidden = !tip.textContent;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 280)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  }

  draw() {
    const { canvas } = this;
    const wide = canvas.clientWidth;
    if (!wide || !this.lanes) return;
    const count = Math.max(1, this.lanes.length);
    [this.left, this.top] = [8, 22];
    this.tall = Math.max(0.25, Math.min(20, 560 / count));
    this.width = wide - 16;
    const high = this.top + Math.max(40, count * this.tall) + 6;
    const ratio = devicePixelRatio || 1;
    canvas.style.height = `${high}px`;
    [canvas.width, canvas.height] = [wide * ratio, high * ratio];
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    this.colour = (name) => style.getPropertyValue(name);
    pen.scale(ratio, ratio);
    pen.font = "11px Helvetica, Arial, sans-serif";
    this.axis(pen, high);
    for (const group of this.groups) if (group.job) this.job(pen, group.job, group.top);
    for (let attempt = 0; attempt < this.lane.length; attempt += 1) this.attempt(pen, attempt);
  }

  axis(pen, high) {
    for (const [at, words] of marks(this.from, this.to, this.width / 90)) {
      const x = this.x(at);
      pen.fillStyle = this.colour("--line");
      pen.fillRect(x, 16, 1, high);
      pen.fillStyle = this.colour("--quiet");
      pen.fillText(words, x + 3, 12);
    }
  }

  job(pen, job, lane) {
    const [y, tall] = [this.top + lane * this.tall, Math.max(1, this.tall - 2)];
    const box = (from, to, colour) => {
      pen.fillStyle = colour;
      pen.fillRect(this.x(from), y, Math.max(1, this.x(to) - this.x(from)), tall);
    };
    const began = job.started ?? job.ended ?? data.until;
    if (began > job.submitted) box(job.submitted, began, hatched(pen, this.colour("--wait")));
    if (job.started !== null) box(job.started, job.ended ?? data.until, this.colour("--held"));
    if (this.tall >= 12) {
      pen.fillStyle = this.colour("--ink");
      pen.fillText(`${job.name}: ${job.asks}`, Math.max(this.left, this.x(began)) + 4, y + tall - 4);
    }
  }

  attempt(pen, attempt) {
    const [start, end, lane] = [attempts.start[attempt], endOf(attempt), this.lane[attempt]];
    if (lane < 0 || end < this.from || start > this.to) return;
    const task = attempts.task[attempt];
    const category = tasks.category[task];
    const shown = this.found(task) && !this.hidden.has(category);
    const [x, y] = [Math.max(0, this.x(start)), this.top + lane * this.tall];
    const [wide, tall] = [Math.max(1, Math.min(this.x(end), this.left + this.width) - x - (this.tall > 4 ? 1 : 0)), Math.max(0.6, this.tall - (this.tall > 4 ? 2 : 0))];
    pen.globalAlpha = shown ? 1 : 0.12;
    pen.fillStyle = colourOf(category);
    pen.fillRect(x, y, wide, tall);
    if (data.endings[attempts.ending[attempt]] !== "success" && attempts.end[attempt] !== null) {
      pen.strokeStyle = this.colour("--bad");
      pen.lineWidth = Math.min(2, tall / 2);
      pen.strokeRect(x + 1, y + 1, Math.max(1, wide - 2), Math.max(0.5, tall - 2));
    }
    if (wide > 60 && tall >= 11) {
      pen.save();
      pen.beginPath();
      pen.rect(x, y, wide, tall);
      pen.clip();
      pen.fillStyle = inkOn(colourOf(category));
      pen.fillText(tasks.id[task], x + 4, y + tall - 3);
      pen.restore();
    }
    pen.globalAlpha = 1;
  }
}

// The colour of text that can be read on another colour.
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
  return 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? "#16191d" : "#ffffff";
}

function hatched(pen, colour) {
  const tile = make("canvas", { width: 6, height: 6 });
  const small = tile.getContext("2d");
  small.strokeStyle = colour;
  small.lineWidth = 1.4;
  small.beginPath();
  for (const [x, y, toX, toY] of [[0, 6, 6, 0], [-3, 3, 3, -3], [3, 9, 9, 3]]) { small.moveTo(x, y); small.lineTo(toX, toY); }
  small.stroke();
  return pen.createPattern(tile, "repeat");
}

// Round moments between two times: [seconds, words].
function marks(from, to, most) {
  const sizes = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const step = sizes.find((size) => (to - from) / size <= most) ?? 86400 * Math.ceil((to - from) / 86400 / most);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push([at, duration(at)]);
  return found;
}

// --- running and waiting tasks over time ---

function overTime(section) {
  const changes = [];
  tasks.ready.forEach((ready, task) => {
    const first = triesOf[task][0];
    if (ready !== null && data.states[tasks.state[task]] !== "reused") changes.push([ready, 0, 1]);
    if (first !== undefined && ready !== null) changes.push([attempts.start[first], 0, -1]);
  });
  attempts.start.forEach((start, attempt) => { changes.push([start, 1, 1], [endOf(attempt), 1, -1]); });
  changes.sort((one, other) => one[0] - other[0]);
  const points = 800;
  const most = [new Float64Array(points), new Float64Array(points)];
  const now = [0, 0];
  let place = 0;
  for (let column = 0; column < points; column += 1) {
    for (const kind of [0, 1]) most[kind][column] = now[kind];
    while (place < changes.length && changes[place][0] <= (column + 1) / points * data.until) {
      const [, kind, by] = changes[place];
      now[kind] += by;
      most[kind][column] = Math.max(most[kind][column], now[kind]);
      place += 1;
    }
  }
  section.append(curve("Tasks that run", most[1], "#0072b2"),
    curve("Tasks that could run and wait for room or for a job", most[0], "#d55e00"));
  const lines = 16;
  const within = (values, line) => values.slice(line * points / lines, (line + 1) * points / lines).reduce((one, other) => Math.max(one, other), 0);
  section.append(asTable("Tasks over time", ["from", "to", "most running", "most waiting"], Array.from({ length: lines }, (_, line) => [
    duration(line / lines * data.until), duration((line + 1) / lines * data.until), within(most[1], line), within(most[0], line)])));
}

// The figures of a picture as a table, for who does not see the picture or wants to copy them.
function asTable(name, heads, rows) {
  const cell = (tag, value, place) => make(tag, { className: place ? "number" : "" }, typeof value === "number" ? value.toLocaleString() : value ?? "");
  return make("details", {}, make("summary", {}, `${name} as a table`), make("div", { className: "wide" }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head, place) => cell("th", head, place)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((value, place) => cell("td", value, place))))))));
}

// How wide a picture may be, so that its text keeps its size in a narrow window.
const roomy = () => Math.max(340, Math.min(1000, byId("waits").clientWidth || 1000));

function curve(title, values, colour) {
  const [wide, high, left, bottom] = [roomy(), 130, 44, 20];
  const top = Math.max(1, ...values);
  const picture = drawing("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${title}: at most ${top} at once` });
  const x = (column) => left + column / values.length * (wide - left - 4);
  const y = (value) => 6 + (1 - value / top) * (high - bottom - 6);
  for (const value of new Set([0, Math.round(top / 2), top])) {
    picture.append(drawing("path", { d: `M${left} ${y(value)}H${wide - 4}`, class: "graph-line" }),
      drawing("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value.toLocaleString()));
  }
  for (const [at, words] of marks(0, data.until, wide / 110)) {
    picture.append(drawing("text", { x: x(at / data.until * values.length), y: high - 4, "text-anchor": "middle" }, words));
  }
  const line = Array.from(values, (value, column) => `${column ? "L" : "M"}${x(column).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  picture.append(drawing("path", { d: `${line}L${x(values.length - 1)} ${y(0)}L${left} ${y(0)}Z`, fill: colour, "fill-opacity": 0.6 }));
  return make("figure", { style: "margin: 0 0 .8rem" }, make("h3", {}, title), picture);
}

// --- what each category asked for, was given and used ---

const plural = (number, one, many) => `${number.toLocaleString()} ${number === 1 ? one : many}`;
const coreWords = (cores) => (cores === null || cores === undefined ? "" : `${Number(cores.toPrecision(2))} ${cores === 1 ? "core" : "cores"}`);
// Of each resource: amounts of an attempt, the request of a category, amounts in words, and lines of the scale.
const AMOUNTS = {
  memory: { given: (attempt) => attempts.given[attempt], used: (attempt) => attempts.used[attempt], asked: (category) => category.hint,
    words: (value) => (value >= 1 || !value ? memory(value) : `${Math.round(value * 1000)} kB`), least: 100,
    lines: [0.01, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7] },
  cores: { given: (attempt) => attempts.cores[attempt], used: (attempt) => attempts.busy[attempt], asked: (category) => category.hint_cores,
    words: coreWords, least: 0.5, lines: [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512] },
  "run time": { given: (attempt) => attempts.time?.[attempt] ?? null, used: (attempt) => Math.max(0, endOf(attempt) - attempts.start[attempt]),
    asked: (category) => category.hint_time, words: duration, least: 1, lines: [0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 864000] },
};
let shownAmount = "memory";

function strips(section) {
  const own = data.categories.map(() => []);
  attempts.task.forEach((task, attempt) => own[tasks.category[task]].push(attempt));
  const grid = make("div", { className: "strips" });
  const draw = () => grid.replaceChildren(...data.categories.flatMap((category, number) => (own[number].length ? [strip(category, number, own[number])] : [])));
  const choice = make("select", { "aria-label": "Resource" }, ...Object.keys(AMOUNTS).map((name) => make("option", { value: name, selected: name === shownAmount }, name)));
  choice.onchange = () => { shownAmount = choice.value; draw(); };
  section.append(make("div", { className: "controls" }, choice),
    make("p", { className: "quiet" }, "Attempts from left to right by start. A bar is what was given, a dot what was used (of cores, those that were busy), "
      + "a cross an attempt without a result; the dashed line is what the workflow asks for. The line along the bars is the estimate: what first "
      + "attempts were given, as it moved. Each scale is logarithmic."), grid,
    asTable("Asked, given and used", ["category", "tasks", "retries", ...Object.keys(AMOUNTS).flatMap((name) => [`${name} asked`, "given first", "given last", "used, mean", "used, most"])],
      data.categories.flatMap((category, number) => (own[number].length ? [amountsOf(category, own[number])] : []))));
  draw();
}

// A line of the table: the figures of one category.
function amountsOf(category, all) {
  const figures = Object.values(AMOUNTS).flatMap((amount) => {
    const used = all.map(amount.used).filter((value) => value !== null);
    const mean = used.length ? used.reduce((sum, value) => sum + value, 0) / used.length : null;
    const most = used.length ? used.reduce((one, other) => Math.max(one, other), 0) : null;
    return [amount.asked(category), amount.given(all[0]), amount.given(all.at(-1)), mean, most].map(amount.words);
  });
  return [category.name, category.tasks, category.retries, ...figures];
}

function strip(category, number, all) {
  const amount = AMOUNTS[shownAmount];
  const { given, used, words } = amount;
  const asked = amount.asked(category);
  const most = 240;
  const shown = all.length <= most ? all : Array.from({ length: most }, (_, place) => all[Math.floor(place * all.length / most)]);
  const peak = all.map((attempt) => used(attempt) ?? 0).reduce((one, other) => Math.max(one, other), 0);
  const known = [...shown.flatMap((attempt) => [given(attempt), used(attempt)]), asked].filter(Boolean);
  const [top, floor] = [Math.max(amount.least, ...known) * 1.2, Math.min(amount.least, ...known) / 1.5];
  const [wide, high, left] = [330, 110, 52];
  const picture = drawing("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img",
    "aria-label": `${category.name}, ${shownAmount}: given at last ${words(given(all.at(-1))) || "without limit"}, used at most ${words(peak)}` });
  const y = (value) => 4 + Math.log(top / Math.max(value, floor)) / Math.log(top / floor) * (high - 8);
  const step = (wide - left - 4) / shown.length;
  let free = Infinity; // labels must not touch
  for (const value of amount.lines.filter((line) => line >= floor && line <= top)) {
    picture.append(drawing("path", { d: `M${left} ${y(value)}H${wide}`, class: "graph-line" }));
    if (free - y(value) < 11) continue;
    free = y(value);
    picture.append(drawing("text", { x: left - 4, y: y(value) + 4, "text-anchor": "end" }, words(value)));
  }
  const estimate = [];
  shown.forEach((attempt, place) => {
    const x = left + place * step;
    if (given(attempt) !== null) {
      const at = y(given(attempt));
      picture.append(drawing("rect", { x: x.toFixed(1), y: at.toFixed(1), width: Math.max(0.8, step * 0.9).toFixed(1),
        height: Math.max(0.5, y(floor) - at).toFixed(1), fill: colourOf(number), "fill-opacity": 0.35 }));
      if (attempts.number[attempt] === 1) estimate.push(`${estimate.length ? "L" : "M"}${x.toFixed(1)} ${at.toFixed(1)}h${(step * 0.9).toFixed(1)}`);
    }
    if (data.endings[attempts.ending[attempt]] !== "success" && attempts.end[attempt] !== null) {
      const [middle, at] = [x + step / 2, y(used(attempt) ?? given(attempt) ?? floor)];
      picture.append(drawing("path", { d: `M${middle - 3} ${at - 3}l6 6m0 -6l-6 6`, stroke: "var(--bad)", "stroke-width": 1.6 }));
    } else if (used(attempt) !== null) {
      picture.append(drawing("circle", { cx: (x + step / 2).toFixed(1), cy: y(used(attempt)).toFixed(1),
        r: Math.min(2.6, Math.max(1.1, step / 2)).toFixed(1), fill: colourOf(number) }));
    }
  });
  if (estimate.length) picture.append(drawing("path", { d: estimate.join(""), class: "estimate" }));
  if (asked) picture.append(drawing("path", { d: `M${left} ${y(asked)}H${wide}`, stroke: "var(--ink)", "stroke-dasharray": "4 3" }));
  return make("figure", { style: "margin: 0" }, make("h3", {}, category.name), picture, make("p", {}, stripWords(category, all, peak)));
}

function stripWords(category, all, peak) {
  const { given, asked, words } = AMOUNTS[shownAmount];
  const firsts = all.filter((attempt) => attempts.number[attempt] === 1).map(given);
  const moves = firsts.filter((value, place) => place > 0 && value !== firsts[place - 1]).length;
  const request = asked(category) ? `asks for ${words(asked(category))}; ` : "";
  const amounts = given(all[0]) === null ? "no limit was given; "
    : `given ${words(given(all[0]))} at first, ${words(given(all.at(-1)))} at last; `;
  return `${request}${amounts}used at most ${words(peak) || "an unknown amount"}${category.retries ? `; ${plural(category.retries, "retry", "retries")}` : ""}`
    + `${moves ? `; the estimate moved ${plural(moves, "time", "times")}` : ""}`;
}

// --- queue waits ---

// How long a job waited or waits; one that follows another does not wait before that has ended.
function waitOf(job) {
  return job.ready === null ? 0 : Math.max(0, (job.started ?? job.ended ?? data.until) - job.ready);
}

function waits(section) {
  const jobs = !data.queued ? [] : data.jobs.filter((job) => job.expected_wait !== null || (job.started !== null && waitOf(job) > 0));
  if (!jobs.length) {
    section.append(make("p", { className: "quiet" }, "No job of this run waited in a queue."));
    return;
  }
  const actual = jobs.map(waitOf);
  section.append(make("p", { className: "quiet" }, `A bar is how long a job waited; the line is what the plan counted on. ${waitWords(jobs, actual)}`));
  const top = Math.max(1, ...actual, ...jobs.map((job) => job.expected_wait ?? 0));
  const wide = roomy();
  const [row, left, right] = wide > 600 ? [22, 260, 190] : [22, 110, 60];
  const picture = drawing("svg", { viewBox: `0 0 ${wide} ${jobs.length * row + 20}`, role: "img", "aria-label": "Waits of jobs, predicted and actual" });
  jobs.forEach((job, number) => {
    const y = number * row + 4;
    const x = (seconds) => left + seconds / top * (wide - left - right);
    picture.append(drawing("text", { x: left - 8, y: y + 12, "text-anchor": "end" }, job.name.slice(0, left / 6)),
      drawing("rect", { x: left, y, width: Math.max(1, x(actual[number]) - left), height: 14, fill: "#0072b2", "fill-opacity": job.started === null ? 0.35 : 0.85 }));
    if (job.expected_wait !== null) picture.append(drawing("path", { d: `M${x(job.expected_wait)} ${y - 3}v20`, stroke: "#d55e00", "stroke-width": 2.4 }));
    const expected = job.expected_wait === null || wide <= 600 ? "" : `, expected ${duration(job.expected_wait)}`;
    picture.append(drawing("text", { x: x(Math.max(actual[number], job.expected_wait ?? 0)) + 8, y: y + 12 }, duration(actual[number]) + expected));
  });
  section.append(picture, asTable("Jobs", ["job", "asked for", "submitted", "waited", "expected", "held for"], jobs.map((job, number) => [job.name, job.asks,
    clock(job.submitted), duration(actual[number]), duration(job.expected_wait), job.started === null ? "did not start" : duration((job.ended ?? data.until) - job.started)])));
}

// How near the plan's waits were to the actual ones, of jobs that have started.
function waitWords(jobs, actual) {
  const known = jobs.flatMap((job, number) => (job.expected_wait !== null && job.started !== null ? [[job.expected_wait, actual[number]]] : []));
  if (!known.length) return "";
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const later = known.filter(([expected, waited]) => waited > expected).length;
  return `${plural(known.length, "job", "jobs")} with a prediction: expected ${duration(mean(known.map(([expected]) => expected)))} on average, `
    + `waited ${duration(mean(known.map(([, waited]) => waited)))}; mean error ${duration(mean(known.map(([expected, waited]) => Math.abs(waited - expected))))}; `
    + `${later.toLocaleString()} started later than expected.`;
}

// --- failures ---

function failures(section) {
  const causes = new Map();
  attempts.ending.forEach((ending, attempt) => {
    const name = data.endings[ending];
    if (name !== "success" && attempts.end[attempt] !== null) causes.set(name, (causes.get(name) ?? 0) + 1);
  });
  const said = [...causes].map(([name, times]) => `${name} ${times.toLocaleString()}`).join(", ");
  section.append(make("p", { className: "quiet" }, said ? `Attempts without a result, by cause: ${said}.` : "Every attempt had a result."));
  const causeOf = (failure) => {
    const last = triesOf[tasks.id.indexOf(failure.task)]?.at(-1);
    return last === undefined ? "without an attempt" : data.endings[attempts.ending[last]];
  };
  const listed = data.failures.map((failure) => ({ ...failure, cause: causeOf(failure) }));
  let cause = "";
  for (const failure of listed.sort((one, other) => one.cause.localeCompare(other.cause))) {
    if (failure.cause !== cause) {
      cause = failure.cause;
      section.append(make("h3", { className: "cause" }, `${cause} (${plural(listed.filter((each) => each.cause === cause).length, "task", "tasks")})`));
    }
    const box = make("div", { className: "failed" }, make("h3", {}, failure.task), make("div", {}, failure.said));
    if (failure.lines.length) box.append(make("pre", {}, failure.lines.join("\n")));
    section.append(box);
  }
}

// --- long tables: only the rows that are seen are in the page ---

const ROW = 26;

class LongTable {
  constructor(section, name, columns, rows, chosen) {
    Object.assign(this, { columns, all: rows, chosen, order: null, falling: false });
    this.search = make("input", { type: "search", placeholder: `find ${name}`, "aria-label": `Find ${name}` });
    this.search.oninput = () => { this.box.scrollTop = 0; this.sort(); };
    this.count = make("span", { className: "quiet", role: "status" });
    this.body = make("tbody");
    const heads = columns.map((column) => {
      const button = make("button", { type: "button", onclick: () => this.by(column) }, column.title);
      return column.head = make("th", { scope: "col", className: column.text || column.cell ? "" : "number", style: column.wide ? `width: ${column.wide}` : "" }, button);
    });
    this.table = make("table", { "aria-rowcount": rows.length }, make("thead", {}, make("tr", {}, ...heads)), this.body);
    this.box = make("div", { className: "rows", tabIndex: 0, role: "region", "aria-label": `Table of ${name}` }, this.table);
    this.box.onscroll = () => requestAnimationFrame(() => this.draw());
    section.append(make("div", { className: "controls" }, this.search, this.count), this.box);
    this.sort();
    addEventListener("beforeprint", () => this.draw());
  }

  by(column) {
    this.falling = this.order === column ? !this.falling : !column.text;
    this.order = column;
    for (const each of this.columns) each.head.removeAttribute("aria-sort");
    column.head.setAttribute("aria-sort", this.falling ? "descending" : "ascending");
    this.box.scrollTop = 0;
    this.sort();
  }

  sort() {
    const wanted = this.search.value.toLowerCase();
    const words = this.columns.filter((column) => column.text);
    this.rows = wanted ? this.all.filter((row) => words.some((column) => String(column.of(row)).toLowerCase().includes(wanted))) : [...this.all];
    if (this.order) {
      const { of } = this.order;
      const sign = this.falling ? -1 : 1;
      const keys = new Map(this.rows.map((row) => [row, of(row)]));
      this.rows.sort((one, other) => {
        const [a, b] = [keys.get(one), keys.get(other)];
        if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1;
        if (b === null || b === undefined) return -1;
        return sign * (a < b ? -1 : a > b ? 1 : 0);
      });
    }
    this.count.textContent = `${this.rows.length.toLocaleString()} of ${this.all.length.toLocaleString()}`;
    this.table.setAttribute("aria-rowcount", this.rows.length);
    this.draw();
  }

  // The run has gone on. What the reader sees and has chosen stays.
  update(rows) {
    this.all = rows;
    this.sort();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 10);
    const last = Math.min(this.rows.length, first + Math.ceil((this.box.clientHeight || 420) / ROW) + 20);
    const gap = (rows) => make("tr", { className: "spacer", "aria-hidden": "true" }, make("td", { colSpan: this.columns.length, style: `height: ${rows * ROW}px` }));
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest("tr")?.row : undefined;
    const shown = this.rows.slice(first, last).map((row, place) => {
      const line = make("tr", { "aria-rowindex": first + place + 1 }, ...this.columns.map((column) => {
        const value = column.of(row);
        const words = column.words ? column.words(value) : String(value ?? "");
        const shown = column.cell ? column.cell(row) : column.link ? make("a", { href: column.link(row) }, words)
          : column.mark ? make("span", { className: `state ${words}` }, words) : words;
        return make("td", { className: column.text || column.cell ? "" : "number", title: column.cell ? "" : words }, shown);
      }));
      line.row = row;
      if (this.chosen) {
        line.tabIndex = 0;
        if (row === this.selected) line.setAttribute("aria-selected", "true");
        line.onclick = () => this.choose(row, line);
        line.onkeydown = (event) => { if (event.key === "Enter") this.choose(row, line); };
      }
      return line;
    });
    this.body.replaceChildren(gap(first), ...shown, gap(this.rows.length - last));
    const again = focused === undefined ? undefined : shown.find((line) => line.row === focused);
    (again?.tabIndex === 0 ? again : again?.querySelector("a"))?.focus({ preventScroll: true });
  }

  choose(row, line) {
    for (const other of this.body.children) other.removeAttribute("aria-selected");
    line.setAttribute("aria-selected", "true");
    this.selected = row;
    this.chosen(row);
  }
}

let taskRows;
let taskDetail;
let decisionRows;
const everyTask = () => Array.from(tasks.id.keys());

function taskTable(section) {
  const last = (column) => (task) => (triesOf[task].length ? attempts[column][triesOf[task].at(-1)] : null);
  const columns = [
    { title: "task", text: true, wide: "21%", of: (task) => tasks.id[task] },
    { title: "category", text: true, wide: "13.5%", of: (task) => data.categories[tasks.category[task]].name },
    { title: "state", text: true, wide: "8.5%", of: (task) => data.states[tasks.state[task]] },
    { title: "tries", wide: "5%", of: (task) => triesOf[task].length },
    { title: "started", wide: "8%", of: last("start"), words: (at) => (at === null ? "" : clock(at)) },
    { title: "waited", wide: "8%", of: (task) => (triesOf[task].length && tasks.ready[task] !== null ? Math.max(0, attempts.start[triesOf[task][0]] - tasks.ready[task]) : null), words: duration },
    { title: "ran", wide: "8%", of: (task) => (triesOf[task].length ? endOf(triesOf[task].at(-1)) - last("start")(task) : null), words: duration },
    { title: "given", wide: "8%", of: last("given"), words: memory },
    { title: "used", wide: "8%", of: last("used"), words: memory },
    { title: "cores", wide: "6%", of: last("cores") },
    { title: "busy", wide: "6%", of: last("busy") },
  ];
  taskRows = new LongTable(section, "tasks", columns, everyTask(), (task) => taskDetail.show(task));
  taskDetail = new Detail(section);
}

function decisionTable(section) {
  if (data.decisions_left_out) {
    section.append(make("p", { className: "quiet" }, `${data.decisions_left_out.toLocaleString()} later ones are left out; headway why TASK has them.`));
  }
  const about = make("div", { className: "detail", role: "status" });
  const columns = [
    { title: "at", wide: "7rem", of: (said) => said.at, words: clock },
    { title: "what", text: true, wide: "9rem", of: (said) => said.kind },
    { title: "about", text: true, wide: "34%", of: (said) => said.about },
    { title: "why", text: true, of: (said) => said.why },
  ];
  decisionRows = new LongTable(section, "decisions", columns, data.decisions, (said) => { about.textContent = `${said.kind}: ${said.about}\n${said.why}`; });
  section.append(about);
}

function settings(section) {
  const rows = data.settings.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
  section.append(make("table", {}, make("tbody", {}, ...rows)));
  for (const warning of data.warnings) section.append(make("p", {}, `Warning: ${warning}`));
}

// --- the page ---

let timeline;
let failed; // the failures as they were last drawn

// Draw a section anew, below its heading.
function fill(id, draw) {
  const section = byId(id);
  section.replaceChildren(section.querySelector("h2"));
  draw(section);
}

function fillChanging() {
  tiles();
  fill("over-time", overTime);
  fill("memory", strips);
  fill("waits", waits);
  const words = JSON.stringify([data.failures, attempts.ending.filter((ending) => ending > 1).length]);
  if (words !== failed) fill("failures", failures);
  failed = words;
}

function begin(found) {
  take(found);
  timeline = new Timeline(byId("timeline"));
  taskTable(byId("tasks"));
  decisionTable(byId("decisions"));
  settings(byId("settings"));
  fillChanging();
  document.documentElement.dataset.drawn = "true";
}

// Draw the page again after its data have changed.
function update() {
  take(data);
  timeline.update();
  taskRows.update(everyTask());
  taskDetail.update();
  decisionRows.update(data.decisions);
  fillChanging();
}

if (byId("data")) begin(JSON.parse(byId("data").textContent));
