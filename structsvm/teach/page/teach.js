// The page of `structsvm teach`. Texts of the corpus only ever become text nodes.
"use strict";

const KEYS = [..."123456789", ..."qetyuiopfghjklzxcvbnm"];
const UNSURE = 0.3; // a margin below which a guess is underlined
const REASONS = {
  margin: "The model is least sure about this one.",
  random: "Drawn at random, for an honest score.",
  review: "You have answered this before; change it or accept it.",
  chosen: "You chose this one.",
};
const FORMATS = { columns: "CoNLL columns", conllu: "CoNLL-U", jsonl: "JSONL", spacy: "spaCy DocBin" };

const byId = (id) => document.getElementById(id);
const tab = (sessionStorage.tab ||= crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2));

let state = null; // what the server sent last
let value = null; // the answer so far: a label for each token, or the number of a candidate
let at = 0; // the token with the cursor
let anchor = 0; // the other end of the selection
let busy = false;
let before = new Map(); // the rows of the next questions on the screen, by id
const drawn = new Map(); // the content of the parts that `redraw` has drawn

// -- requests -----------------------------------------------------------------------------------

const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(3)), (n) => n.toString(36)).join("-");

async function send(path, body) {
  for (;;) {
    let reply;
    try {
      reply = await fetch(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ tab, ...body }),
      });
    } catch {
      trouble("The program does not respond. Run the same command again; nothing is lost.");
      await new Promise((done) => setTimeout(done, 1000));
      continue; // a request has a key, so it never counts twice
    }
    const found = await reply.json().catch(() => ({ error: `the program answered ${reply.status}` }));
    trouble("");
    if (!reply.ok) throw Object.assign(new Error(found.error), { status: reply.status });
    return found;
  }
}

async function change(path, body, said) {
  if (busy) return;
  busy = true;
  try {
    show(await send(path, body), said);
  } catch (error) {
    if (error.status === 409) show(await send("question", {}), error.message);
    else trouble(error.message);
  } finally {
    busy = false;
  }
}

function trouble(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
}

// -- showing ------------------------------------------------------------------------------------

function make(tag, text = "", className = "") {
  const node = document.createElement(tag);
  node.textContent = text;
  node.className = className;
  return node;
}

// Draw a part only if its content has changed: most of the time to the next guesses is layout and paint.
function redraw(id, content, draw) {
  const key = JSON.stringify(content);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  byId(id).replaceChildren(...draw());
}

const colour = (name) => Math.max(state.names.indexOf(name), 0) % 10;
const paint = (node, name) => node.style.setProperty("--c", `var(--c${colour(name)})`);
const typeOf = (label) => (state.kind === "spans" ? label.slice(2) : label);
const isMarked = (label) => label !== null && label !== undefined && (state.kind === "tokens" || label !== "O");
const starts = (labels, k) => labels[k].startsWith("B-") || !isMarked(labels[k - 1]) || typeOf(labels[k - 1]) !== typeOf(labels[k]);
const ends = (labels, k) => k + 1 === labels.length || !isMarked(labels[k + 1]) || starts(labels, k + 1);

// Tokens with their labels, in any part of the page.
function drawTokens(box, { tokens, spaces }, labels, { margins = null, old = null, doubted = [] } = {}) {
  const nodes = tokens.map((text, k) => {
    const node = make("span", text, "token");
    const label = labels ? labels[k] : undefined;
    if (label === null) node.classList.add("unknown");
    if (isMarked(label)) {
      node.classList.add("mark");
      paint(node, typeOf(label));
      if (state.kind === "spans") {
        if (starts(labels, k)) node.classList.add("start");
        if (ends(labels, k)) {
          node.classList.add("end");
          node.append(make("span", typeOf(label), "chip"));
        }
      }
    }
    if (state.kind === "tokens") node.append(make("small", label === null ? "?" : label ?? ""));
    if (margins && labels && label !== null && margins[k] < UNSURE) node.classList.add("unsure");
    if (doubted.includes(k)) node.classList.add("doubted");
    if (old && old[k] !== label) node.classList.add("changed");
    return node;
  });
  const spaced = (k) => k > 0 && (!spaces || spaces[k - 1]);
  box.replaceChildren(...nodes.flatMap((node, k) => (spaced(k) ? [joint(labels, k), node] : [node])));
  box.classList.toggle("tokens", state.kind === "tokens");
  return nodes;
}

// The space between two tokens; inside a phrase it has its colour.
function joint(labels, k) {
  if (state.kind !== "spans" || !labels || !isMarked(labels[k]) || !isMarked(labels[k - 1]) || starts(labels, k)) return " ";
  const space = make("span", " ", "mark joint");
  paint(space, typeOf(labels[k]));
  return space;
}

function show(found, said = "") {
  state = found;
  const question = state.question;
  document.title = `${state.title} – teach`;
  byId("title").textContent = state.title;
  byId("detail").hidden = true;
  value = question ? draft(question) : null;
  at = anchor = question && margins() ? Math.max(margins().indexOf(Math.min(...margins())), 0) : 0;
  if (state.kind === "choice") at = anchor = Math.max(Number(value), -1);
  drawQuestion();
  drawLabels();
  drawProgress();
  drawUpcoming();
  for (const id of ["accept", "skip", "explain", "others"]) byId(id).disabled = !question;
  byId("undo").disabled = !state.stats.can_undo;
  byId("explain").hidden = byId("others").hidden = state.kind === "choice";
  byId("extend").hidden = state.kind !== "spans" || !question;
  const what = question ? `${reason(question)} ${reading(question)}` : "There are no more questions.";
  byId("status").textContent = `${said} ${what}`;
  if (!["INPUT", "BUTTON", "SUMMARY", "A"].includes(document.activeElement.tagName)) byId("sentence").focus({ preventScroll: true });
}

const margins = () => (state.kind === "choice" || !state.question ? null : state.question.margins ?? null);
const reading = ({ item }) => item.text ?? item.tokens.map((token, k) => token + (item.spaces?.[k] === false ? "" : " ")).join("").trim();

// The answer to begin with: what was typed before a reload, what was undone, the answer before, or the guess.
function draft(question) {
  const kept = JSON.parse(sessionStorage.draft ?? "null");
  const first = question.draft ?? question.value ?? question.guess;
  if (kept && kept.id === question.id && kept.first === JSON.stringify(first ?? null)) return kept.value;
  if (state.kind === "choice") return first ?? -1;
  return first ? [...first] : question.item.tokens.map(() => (state.kind === "spans" ? "O" : null));
}

function keep() {
  const question = state.question;
  const first = JSON.stringify(question.draft ?? question.value ?? question.guess ?? null);
  sessionStorage.draft = JSON.stringify({ id: question.id, first, value });
}

const reason = ({ why }) => (state.stats.answered || why !== "margin" ? REASONS[why] ?? "" : "Label this one; the model learns from each answer.");

function drawQuestion() {
  const question = state.question;
  const box = byId("sentence");
  byId("why").textContent = question ? reason(question) : "";
  box.className = question ? "" : "reading";
  box.removeAttribute("role");
  if (!question) {
    box.textContent = "There are no more questions. Export your labels, or review the doubtful ones.";
    byId("why").textContent = "All done.";
    return;
  }
  box.setAttribute("role", "listbox");
  box.setAttribute("aria-label", state.kind === "choice" ? "Candidates" : "Sentence");
  if (state.kind === "choice") return drawChoice(box, question);
  box.setAttribute("aria-multiselectable", "true");
  const [low, high] = [Math.min(at, anchor), Math.max(at, anchor)];
  const asGuessed = JSON.stringify(value) === JSON.stringify(question.guess);
  const nodes = drawTokens(box, question.item, value, { margins: asGuessed && state.stats.answered ? margins() : null });
  nodes.forEach((node, k) => {
    const picked = k >= low && k <= high;
    node.id = `t${k}`;
    node.dataset.k = k;
    node.setAttribute("role", "option");
    node.setAttribute("aria-selected", picked);
    node.setAttribute("aria-label", `${question.item.tokens[k]}, ${value[k] === null ? "unknown" : isMarked(value[k]) ? typeOf(value[k]) : "no label"}`);
    if (k === at) node.classList.add("at");
    if (picked && low !== high) node.classList.add("picked");
  });
  box.setAttribute("aria-activedescendant", `t${at}`);
  holdHeight(box);
}

// The buttons below stay where they are: the box is as high as the highest sentence so far, up to half the screen.
function holdHeight(box) {
  const most = Math.max(Math.ceil(box.getBoundingClientRect().height), parseFloat(box.style.minHeight) || 0);
  box.style.minHeight = `${Math.min(most, window.innerHeight / 2)}px`;
}

function drawChoice(box, question) {
  box.className = "reading";
  box.textContent = question.item.text;
  const list = make("div", "", "choices");
  const rows = [...question.item.candidates, "none of these"];
  rows.forEach((text, row) => {
    const k = row === question.item.candidates.length ? -1 : row;
    const node = make("span", text, k === value ? "token chosen" : "token");
    node.id = `t${k}`;
    node.dataset.k = k;
    node.setAttribute("role", "option");
    node.setAttribute("aria-selected", k === value);
    node.prepend(make("kbd", `${k < 0 ? 0 : KEYS[k] ?? ""} `));
    list.append(node);
  });
  box.append(list);
  box.setAttribute("aria-activedescendant", `t${value}`);
}

function drawLabels() {
  const box = byId("labels");
  byId("new").hidden = box.hidden = state.kind === "choice" || !state.question;
  byId("help").hidden = box.hidden;
  if (!box.hidden) redraw("labels", [state.kind, state.names], labelButtons);
}

function labelButtons() {
  const buttons = state.names.map((name, k) => {
    const button = make("button", name);
    button.type = "button";
    paint(button, name);
    if (KEYS[k]) button.append(make("kbd", KEYS[k].toUpperCase()));
    button.addEventListener("click", () => setLabel(name));
    return button;
  });
  if (state.kind === "spans") buttons.push(plain("No label", "0", () => setLabel("O")));
  return [...buttons, plain("Don't know", "D", () => setLabel(null))];
}

function plain(text, key, work) {
  const button = make("button", text, "plain");
  button.type = "button";
  button.append(make("kbd", key));
  button.addEventListener("click", work);
  return button;
}

const percent = (x) => `${(100 * x).toFixed(x < 0.9995 ? 1 : 0)}%`;

function drawProgress() {
  const stats = state.stats;
  byId("count").textContent = `${stats.answered} labelled, ${stats.open} left` + (stats.skipped ? `, ${stats.skipped} skipped` : "");
  const figures = [["labelled", stats.answered], ["per minute", stats.per_minute ?? "–"]];
  const score = { spans: "F1", tokens: "accuracy", choice: "accuracy" }[state.kind];
  const random = stats.estimate && stats.estimate.questions >= 5 ? stats.estimate : null;
  figures.push([random ? `${score} on ${random.questions} random questions (${percent(random.low)} to ${percent(random.high)})` : `${score} on random questions`, random ? percent(random.score) : "–", "wide"]);
  const certain = stats.answered ? stats.certain : null; // before the first answer, there is no model
  figures.push(["of what is left is certain", certain === null ? "–" : percent(certain), "wide"]);
  byId("figures").replaceChildren(...figures.map(([term, number, wide = ""]) => {
    const row = make("div", "", wide);
    row.append(make("dt", term), make("dd", String(number)));
    return row;
  }));
  byId("caption").textContent = `${score} of the guesses, before you answered`;
  drawCurve(stats.curve);
  byId("hint").hidden = !stats.enough;
  byId("hint").textContent = "No remaining question is within the margin: more labels from this text will hardly change the model.";
  redraw("notes", state.notes, () => state.notes.map((note) => make("li", note)));
  redraw("formats", state.formats, () => [...state.formats.map(formatRow), saveRow()]);
}

function formatRow(format) {
  const link = make("a", FORMATS[format] ?? format);
  link.href = `export/${format}`;
  link.download = "";
  const row = make("li");
  row.append(link);
  return row;
}

function saveRow() {
  const row = make("li");
  const button = make("button", "Save the model");
  button.type = "button";
  button.addEventListener("click", async () => {
    await send("save", {}).then(() => (byId("status").textContent = "The model is saved."), (error) => trouble(error.message));
    byId("export").open = false;
  });
  row.append(button);
  return row;
}

function drawCurve(points) {
  const svg = byId("curve");
  const add = (tag, attributes, text = "") => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, one] of Object.entries(attributes)) node.setAttribute(name, one);
    node.textContent = text;
    svg.append(node);
  };
  svg.replaceChildren();
  const y = (score) => 92 - 82 * score;
  for (const level of [0, 0.5, 1]) {
    add("line", { x1: 34, x2: 298, y1: y(level), y2: y(level), class: "grid" });
    add("text", { x: 28, y: y(level) + 4, "text-anchor": "end" }, `${100 * level}%`);
  }
  if (!points.length) return;
  const last = points[points.length - 1];
  const x = (n) => 34 + (260 * n) / Math.max(last[0], 10);
  add("polyline", { points: points.map(([n, score]) => `${x(n).toFixed(1)},${y(score).toFixed(1)}`).join(" "), class: "score" });
  add("circle", { cx: x(last[0]), cy: y(last[1]), r: 3.5, class: "last" });
  add("text", { x: x(last[0]), y: 107, "text-anchor": last[0] > 5 ? "end" : "start" }, String(last[0]));
}

// Rows whose guesses are the same stay in the document as they are.
function drawUpcoming() {
  const list = byId("upcoming");
  const now = new Map(state.upcoming.map((question) => [question.id, upcomingRow(question)]));
  const rows = [...now.values()].map(({ row }) => row);
  for (const row of [...list.children]) if (!rows.includes(row)) row.remove();
  rows.forEach((row, k) => list.children[k] === row || list.insertBefore(row, list.children[k] ?? null));
  byId("coming").hidden = !rows.length;
  before = now;
}

function upcomingRow({ id, item, guess }) {
  const old = before.get(id);
  const key = JSON.stringify([state.names, guess]);
  if (old?.key === key) return old;
  const row = make("li", state.kind === "choice" ? item.text : "", "line");
  if (state.kind !== "choice") drawTokens(row, item, guess, { old: old?.guess });
  return { key, guess, row };
}

// -- details on demand --------------------------------------------------------------------------

function detail(title, ...nodes) {
  const box = byId("detail");
  box.replaceChildren(make("h2", title), ...nodes);
  box.hidden = false;
}

async function explain() {
  const found = await send("explain", { id: state.question.id, at });
  const table = document.createElement("table");
  for (const [name, weight] of found.reasons) {
    const row = table.insertRow();
    row.insertCell().textContent = name;
    row.insertCell().textContent = weight > 0 ? `+${weight}` : weight;
  }
  const word = state.question.item.tokens[at];
  const text = found.label === null ? "The model knows no labels yet." : `“${word}” is ${isMarked(found.label) ? typeOf(found.label) : "not labelled"}, by a margin of ${found.margin}`;
  detail(text, found.reasons.length ? table : make("p", "None of its features has a weight yet."));
}

async function others() {
  const { found } = await send("alternatives", { id: state.question.id });
  const list = document.createElement("ol");
  for (const [score, labels] of found) {
    const button = make("button", "", "line");
    button.type = "button";
    drawTokens(button, state.question.item, labels);
    if (score !== null) button.append(make("small", `  ${score}`));
    button.addEventListener("click", () => {
      value = [...labels];
      edited();
    });
    list.append(make("li"));
    list.lastChild.append(button);
  }
  detail(found.length ? "Take another labelling:" : "The model knows no labels yet.", list);
}

async function review() {
  const { found } = await send("doubts", {});
  const list = document.createElement("ol");
  for (const doubt of found) {
    const button = make("button", "", "line");
    button.type = "button";
    if (state.kind === "choice") button.textContent = doubt.item.text;
    else drawTokens(button, doubt.item, doubt.value, { doubted: doubt.at });
    button.addEventListener("click", () => change("question", { id: doubt.id }));
    list.append(make("li"));
    list.lastChild.append(button);
  }
  detail(found.length ? "Your answers that look doubtful:" : "None of your answers looks doubtful.", list);
}

const ask = (work) => work().catch((error) => trouble(error.message));

// -- answering ----------------------------------------------------------------------------------

function edited() {
  keep();
  drawQuestion();
}

function setLabel(name) {
  if (!state.question || state.kind === "choice") return;
  const [low, high] = [Math.min(at, anchor), Math.max(at, anchor)];
  const mark = state.kind === "spans" && name !== null && name !== "O";
  const wanted = (k) => (mark ? `${k === low ? "B" : "I"}-${name}` : name);
  const range = Array.from({ length: high - low + 1 }, (_, k) => low + k);
  const same = range.every((k) => value[k] === wanted(k));
  if (mark && same && (high + 1 === value.length || value[high + 1] !== `I-${name}`)) name = "O"; // pressed again: take it away
  for (const k of range) value[k] = name === "O" ? "O" : wanted(k);
  const next = value[high + 1]; // what is left of a phrase that was cut
  if (state.kind === "spans" && next && next.startsWith("I-")) value[high + 1] = `B-${next.slice(2)}`;
  at = anchor = state.kind === "tokens" ? Math.min(high + 1, value.length - 1) : high;
  byId("detail").hidden = true;
  edited();
  byId("status").textContent = `${state.question.item.tokens.slice(low, high + 1).join(" ")}: ${name === null ? "unknown" : name === "O" ? "no label" : name}`;
}

const answer = (given) => state.question && change("answer", { id: state.question.id, value: given, key: newKey(), again: state.question.answered }, given === null ? "Skipped." : "Learned.");
const accept = () => answer(value);
const skip = () => answer(null);
const undo = () => state.stats.can_undo && change("undo", { key: newKey() }, "Undone.");

function move(step, extend) {
  const last = state.kind === "choice" ? state.question.item.candidates.length - 1 : value.length - 1;
  if (state.kind === "choice") {
    const order = [...state.question.item.candidates.keys(), -1];
    value = order[Math.min(Math.max(order.indexOf(value) + step, 0), order.length - 1)];
    return edited();
  }
  at = Math.min(Math.max(at + step, 0), last);
  if (!extend) anchor = at;
  drawQuestion();
}

function pickPhrase(k) {
  at = anchor = k;
  if (state.kind !== "spans" || !isMarked(value[k])) return;
  while (!starts(value, anchor)) anchor -= 1;
  while (!ends(value, at)) at += 1;
}

// Close what is open, first the menu.
function closeOpen() {
  const menu = byId("export");
  if (!menu.open) return void (byId("detail").hidden = true);
  const inside = menu.contains(document.activeElement);
  menu.open = false;
  if (inside) menu.querySelector("summary").focus();
}

document.addEventListener("keydown", (event) => {
  if (!state || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
  if (event.key === "Escape") return closeOpen();
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (["Enter", " "].includes(key) && ["BUTTON", "SUMMARY", "A"].includes(event.target.tagName)) return;
  const work = state.question ? keyWork(key, event.shiftKey) : { Backspace: undo, r: () => ask(review) }[key];
  if (work) {
    event.preventDefault();
    work();
  }
});

function keyWork(key, shift) {
  const vertical = state.kind === "choice" ? 1 : 5;
  const fixed = {
    Enter: accept, " ": skip, Backspace: undo,
    ArrowLeft: () => move(-1, shift), ArrowRight: () => move(1, shift),
    ArrowUp: () => move(-vertical, shift), ArrowDown: () => move(vertical, shift),
    Home: () => move(-1e6, shift), End: () => move(1e6, shift),
    r: () => ask(review),
  };
  if (key in fixed) return fixed[key];
  if (state.kind === "choice") return choiceKey(key);
  const more = { d: () => setLabel(null), w: () => ask(explain), a: () => ask(others) };
  if (key in more) return more[key];
  if (state.kind === "spans" && (key === "0" || key === "Delete")) return () => setLabel("O");
  const name = state.names[KEYS.indexOf(key)];
  return name === undefined ? null : () => setLabel(name);
}

function choiceKey(key) {
  const k = key === "0" ? -1 : KEYS.indexOf(key);
  if (key !== "0" && (k < 0 || k >= state.question.item.candidates.length)) return null;
  return () => {
    value = k;
    edited();
  };
}

const tokenAt = (event) => {
  const under = document.elementFromPoint(event.clientX, event.clientY)?.closest("#sentence .token");
  return under ? Number(under.dataset.k) : null;
};

let dragging = false;
byId("sentence").addEventListener("pointerdown", (event) => {
  const k = tokenAt(event);
  if (k === null || event.button) return;
  if (state.kind === "choice") {
    value = k;
    return edited();
  }
  dragging = true;
  pickPhrase(k);
  drawQuestion();
});
document.addEventListener("pointermove", (event) => {
  const k = dragging ? tokenAt(event) : null;
  if (k === null || k === at) return;
  if (anchor !== k && !event.movementX && !event.movementY) return;
  if (at !== anchor && k >= Math.min(at, anchor) && k <= Math.max(at, anchor) && state.kind === "spans" && isMarked(value[k])) return;
  at = k;
  drawQuestion();
});
document.addEventListener("pointerup", () => (dragging = false));

document.addEventListener("pointerdown", (event) => {
  if (!byId("export").contains(event.target)) byId("export").open = false;
});
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (width !== window.innerWidth) byId("sentence").style.minHeight = ""; // phones change the height as they scroll
  width = window.innerWidth;
});

// After a click with the mouse, keys go to the sentence again.
document.addEventListener("click", (event) => {
  if (event.detail && event.target.closest("button")) byId("sentence").focus({ preventScroll: true });
});

byId("extend").addEventListener("click", () => state.question && move(1, true));
byId("accept").addEventListener("click", accept);
byId("skip").addEventListener("click", skip);
byId("undo").addEventListener("click", undo);
byId("explain").addEventListener("click", () => ask(explain));
byId("others").addEventListener("click", () => ask(others));
byId("review").addEventListener("click", () => ask(review));
byId("new").addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = byId("name").value.trim();
  if (!name) return;
  const kept = state.question && { id: state.question.id, value };
  await change("name", { name, key: newKey() }, `New label ${name}.`);
  if (kept && state.question && state.question.id === kept.id) {
    value = kept.value;
    edited();
  }
  if (byId("trouble").hidden) byId("name").value = "";
  byId("sentence").focus();
});

byId("help").textContent = "Move with the arrow keys; hold Shift to select. Press a number to set a label, and again to remove it.";
change("question", {});
