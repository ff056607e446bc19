// The page: it takes a question, lets the worker search, and shows the results and what the server saw.

import { told, UNKEPT } from "./problems.js";

const at = (selector) => document.querySelector(selector);
const STEPS = {
  embed: ["Make a vector of the question", "on this device"],
  encrypt: ["Encrypt it", "on this device"],
  decrypt: ["Decrypt and rank", "on this device"],
  score: ["Score all definitions, encrypted", "at the server"],
  fetch: ["Send parts of the index, unseen which", "at the server"],
  payloads: ["Send definitions, unseen which", "at the server"],
  manifest: ["Say which version there is", "at the server"],
  parts: ["Send what is new of the index", "at the server"],
};
let config;
let worker;
let ready = false;
// The newest question with its number, and whether it must be sent once everything is loaded.
let asked = { number: 0, question: "", waits: false };
// The last two answered questions, the older first.
const seen = [];
const loaded = { words: 0, index: 0 };

start();

async function start() {
  at("#search").addEventListener("submit", (event) => {
    event.preventDefault();
    ask(at("#question").value);
  });
  for (const button of document.querySelectorAll(".examples button")) {
    button.addEventListener("click", () => {
      at("#question").value = button.textContent;
      ask(button.textContent);
    });
  }
  at("#settings form").addEventListener("submit", changed);
  at("#problem button").addEventListener("click", again);
  if (!globalThis.crypto?.subtle) return problem({ code: "insecure", message: "crypto.subtle is missing" });
  if (typeof WebAssembly !== "object") return problem({ code: "unsupported", message: "WebAssembly is missing" });
  await configured();
}

async function configured() {
  try {
    const response = await fetch("config.json", { cache: "no-cache" });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    config = await response.json();
  } catch (error) {
    return problem({ code: "start", message: `config.json: ${error.message}` });
  }
  at("#server").value ||= config.server;
  open();
}

/** Starts a new worker, which downloads what searches need. */
function open() {
  worker?.terminate();
  ready = false;
  Object.assign(loaded, { words: 0, index: 0 });
  clear();
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => HEARD[data.kind](data);
  worker.onerror = (event) => {
    event.preventDefault();
    problem({ code: "start", message: event.message || "the worker did not start" });
  };
  say("Loading what searching needs, once …");
  worker.postMessage({ open: config });
}

/** Handlers for the worker's messages, by kind. */
const HEARD = {
  loading({ what, bytes }) {
    if (ready) return;
    loaded[what] = bytes;
    const progress = at("#progress");
    progress.hidden = false;
    // The size of the index is known only after its download.
    const of = config.table.bytes;
    if (loaded.words < of) Object.assign(progress, { max: of, value: loaded.words });
    else progress.removeAttribute("value");
    quietly(`Loading word vectors, ${megabytes(loaded.words)} of ${megabytes(of)}, and the index, ${megabytes(loaded.index)} …`);
  },
  unkept() {
    at("#notice").textContent = UNKEPT;
    at("#notice").hidden = false;
  },
  ready({ about }) {
    ready = true;
    at("#progress").hidden = true;
    say(`Ready: ${whole(about.records)} definitions.`);
    at("#once").textContent =
      `Before the first question this visit loaded ${megabytes(about.words)} of word vectors and ${megabytes(about.index)} of the index. What is kept is not loaded again.`;
    if (asked.waits) send();
  },
  answer(answer) {
    if (answer.number !== asked.number) return;
    at("#search").removeAttribute("aria-busy");
    say(`${answer.hits.length} definitions found in ${milliseconds(answer.steps.reduce((sum, { ms }) => sum + ms, 0))}.`);
    showHits(answer.hits);
    showSteps(answer.steps);
    seen.push({ question: asked.question, ...answer.seen });
    if (seen.length > 2) seen.shift();
    // After the browser has painted the texts.
    setTimeout(showSeen);
  },
  problem(what) {
    if (what.number === undefined || what.number === asked.number) problem(what);
  },
};

function ask(text) {
  const question = text.trim();
  if (question === "") {
    say("Type what you mean first, in a few words.");
    at("#question").focus();
    return;
  }
  asked = { number: asked.number + 1, question, waits: true };
  if (ready) send();
  else if (at("#problem").hidden) say("Your question waits until all is loaded …");
}

function send() {
  asked.waits = false;
  clear();
  at("#search").setAttribute("aria-busy", "true");
  say("Searching …");
  worker.postMessage({ ask: asked.question, number: asked.number });
}

/** Tries again: sends the question if there is a client, and otherwise loads everything. */
function again() {
  at("#question").focus();
  if (ready && asked.question) send();
  else if (config) open();
  else location.reload();
}

async function changed(event) {
  event.preventDefault();
  if (!config) return again();
  const [file] = at("#key").files;
  const server = at("#server").value.trim();
  config = { ...config, server, readerKey: file ? new Uint8Array(await file.arrayBuffer()) : config.readerKey };
  seen.length = 0;
  for (const section of ["#found", "#steps", "#seen"]) at(section).hidden = true;
  at("#question").focus();
  open();
}

function problem(what) {
  const { title, text, retry } = told(what, { origin: location.origin, server: config?.server });
  const box = at("#problem");
  at("#problem h2").textContent = title;
  at("#problem > p").textContent = text;
  at("#problem details p").textContent = what.message;
  at("#problem button").hidden = !retry;
  at("#progress").hidden = true;
  at("#search").removeAttribute("aria-busy");
  for (const section of ["#found", "#steps"]) at(section).hidden = true;
  say("");
  box.hidden = false;
}

function clear() {
  at("#problem").hidden = true;
}

function say(text) {
  at("#status").removeAttribute("aria-live");
  at("#status").textContent = text;
}

/** Sets a text that changes often and that screen readers skip. */
function quietly(text) {
  at("#status").setAttribute("aria-live", "off");
  at("#status").textContent = text;
}

function showHits(hits) {
  at("#found ol").replaceChildren(...hits.map(hitOf));
  at("#found").hidden = false;
}

/** Shows a definition. `sordino-web` writes its kind, its words and its meaning; texts of other indexes are shown
 * unchanged. */
function hitOf({ score, payload }) {
  const [kind, words, meaning] = payload.split("\t");
  const item = element("li");
  const name = element("span");
  if (meaning !== undefined) name.append(element("b", words), " ", element("i", kind));
  const value = element("data", score.toFixed(2));
  value.value = score;
  value.title = "Nearness to the question: 1 is the same";
  item.append(name, value, element("p", meaning ?? payload));
  return item;
}

function showSteps(steps) {
  const sum = (name) => steps.reduce((all, step) => all + (step[name] ?? 0), 0);
  const rows = steps.map(({ step, ms, sent, received }) => rowOf(...(STEPS[step] ?? [step, "at the server"]), ms, sent, received));
  at("#steps tbody").replaceChildren(...rows, rowOf("In all", "", sum("ms"), sum("sent"), sum("received")));
  at("#steps").hidden = false;
}

function rowOf(step, where, ms, sent, received) {
  const row = element("tr");
  const head = element("th", step);
  head.scope = "row";
  if (where) head.append(" ", element("small", where));
  const bytes = (count) => (count === undefined ? "" : kilobytes(count));
  row.append(head, ...[milliseconds(ms), bytes(sent), bytes(received)].map((text) => element("td", text)));
  return row;
}

function showSeen() {
  document.querySelectorAll("#seen figure").forEach((figure, place) => {
    const one = seen[place];
    const [canvas, caption] = figure.children;
    canvas.hidden = !one;
    if (!one) return caption.replaceChildren("Ask a second question to compare.");
    Object.assign(canvas, { width: one.picture.width, height: one.picture.height });
    canvas.getContext("2d").putImageData(one.picture, 0, 0);
    canvas.setAttribute("aria-label", `The bytes of “${one.question}”, which look like noise`);
    caption.replaceChildren(`“${one.question}”: ${messages(one.messages)}, ${whole(one.size)} bytes`);
  });
  at("#comparison").textContent = comparison();
  at("#seen").hidden = false;
}

/** Describes the pictures in words. */
function comparison() {
  const [one, two] = seen;
  const noise = `A byte of the ${two ? "first" : "question"} tells ${one.bits.toFixed(3)} bits; of pure noise it tells 8.`;
  if (!two) return noise;
  if (one.size !== two.size || one.messages !== two.messages) return "The sizes differ, which is a fault: please report it.";
  return (
    `Both questions made ${messages(one.messages)} of the same size. ${noise} ` +
    `At ${whole(two.equal)} of ${whole(one.size)} places both have the same byte; ` +
    `two pieces of pure noise agree at about ${whole(one.size / 256)}.`
  );
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Formats a whole number in groups of three digits. The first use of Intl would delay the page. */
const whole = (count) => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
const messages = (count) => (count === 1 ? "1 message" : `${count} messages`);
const megabytes = (count) => `${(count / 1e6).toFixed(1)} MB`;
const kilobytes = (count) => `${whole(count / 1e3)} kB`;
const milliseconds = (ms) => `${ms < 10 ? ms.toFixed(1) : whole(ms)} ms`;
