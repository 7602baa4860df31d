// What makes the pages live; all of them read well without it.
"use strict";

const TICK_MS = 10_000;
const LEAST_GAP_MS = 2_000;
const GAP_FOR_WORK = 50; // a page takes at most a fiftieth of the server's time
const UNITS = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]];

// --- times ---------------------------------------------------------------------------------------

function age(seconds) {
  for (const [size, unit] of UNITS) {
    if (Math.abs(seconds) >= size) {
      const count = Math.floor(Math.abs(seconds) / size);
      return seconds > 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`;
    }
  }
  return "now";
}

function tick() {
  for (const time of document.querySelectorAll("time")) {
    const said = age(Math.trunc((Date.now() - Date.parse(time.dateTime)) / 1000));
    if (time.textContent !== said) time.textContent = said;
  }
}

// --- keys ----------------------------------------------------------------------------------------

function move(step) {
  const rows = [...document.querySelectorAll("a.row")];
  const next = rows[rows.indexOf(document.activeElement) + step];
  (next ?? (step > 0 && !rows.includes(document.activeElement) ? rows[0] : undefined))?.focus();
}

function pressed(event) {
  const writes = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape" && writes) event.target.blur();
  if (writes || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "/") {
    event.preventDefault();
    document.querySelector("#query, .find input").focus();
  }
}

// --- what changed --------------------------------------------------------------------------------

let running = false;
let waiting = false;
let notBefore = 0;

// The server renders; here only the parts that differ are put in the place of the old ones.
function replace(fresh) {
  document.body.dataset.seq = fresh.body.dataset.seq;
  document.body.dataset.check = fresh.body.dataset.check;
  const foot = fresh.querySelector("footer span");
  if (foot) document.querySelector("footer span").textContent = foot.textContent;
  const places = document.querySelectorAll("[data-live]");
  const same = [...places].map((place) => place.id).join() ===
    [...fresh.querySelectorAll("[data-live]")].map((place) => place.id).join();
  if (!same || document.title !== fresh.title) {
    location.reload();
    return;
  }
  for (const place of places) {
    const made = fresh.getElementById(place.id);
    if (plain(place) !== plain(made)) put(place, made);
  }
}

// Markup without what only time changes.
function plain(place) {
  const copy = place.cloneNode(true);
  for (const time of copy.querySelectorAll("time")) time.textContent = "";
  for (const one of copy.querySelectorAll(".fresh")) one.classList.remove("fresh");
  return copy.innerHTML.replaceAll(' class=""', "");
}

function put(place, made) {
  const known = new Set([...place.querySelectorAll("[data-key]")].map((row) => row.dataset.key));
  const focused = place.contains(document.activeElement)
    ? document.activeElement.getAttribute("href") : null;
  place.replaceChildren(...document.importNode(made, true).childNodes);
  for (const row of place.querySelectorAll("[data-key]")) {
    if (!known.has(row.dataset.key)) row.classList.add("fresh");
  }
  if (focused) place.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

async function refresh() {
  if (document.hidden || running) {
    waiting = true;
    return;
  }
  running = true;
  waiting = false;
  await new Promise((done) => setTimeout(done, Math.max(0, notBefore - performance.now())));
  const begun = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    const text = await answer.text();
    if (answer.headers.get("content-type")?.startsWith("text/html")) {
      replace(new DOMParser().parseFromString(text, "text/html"));
    }
  } catch {
    told("not connected", true);
  }
  const took = performance.now() - begun;
  notBefore = performance.now() + Math.max(LEAST_GAP_MS, GAP_FOR_WORK * took);
  running = false;
  if (waiting && !document.hidden) refresh();
}

function concerns(kinds) {
  const wanted = document.body.dataset.kinds.split(" ").filter(Boolean);
  if (!wanted.length) return false;
  return kinds.includes("*") || wanted.includes("*") || kinds.some((kind) => wanted.includes(kind));
}

// --- the stream ----------------------------------------------------------------------------------

function told(text, isOff = false) {
  const place = document.getElementById("stream");
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle("off", isOff);
}

function heard({ name, data }) {
  if (name === "open") told("live");
  if (name === "error") told("not connected", true);
  if (name === "fault" && concerns(["*"])) refresh();
  if (name === "check" && Number(document.body.dataset.check) !== data.revision &&
      document.body.dataset.kinds.split(" ").includes("check")) refresh();
  if (name !== "journal") return;
  told("live");
  const shown = Number(document.body.dataset.seq);
  if (data.kinds.length ? concerns(data.kinds) : data.seq !== shown && concerns(["*"])) refresh();
}

// A browser opens six connections to a server: one tab holds the stream and tells the others.
function listen() {
  const others = new BroadcastChannel("journal");
  const latest = new Map();
  others.onmessage = ({ data }) => {
    if (data.name !== "ask") return;
    for (const message of latest.values()) others.postMessage(message);
  };
  const tell = (message) => {
    if (message.name === "check") latest.set("check", message);
    if (message.name === "journal") {
      latest.set("journal", { name: "journal", data: { ...message.data, kinds: [] } });
    }
    others.postMessage(message);
    heard(message);
  };
  const stream = new EventSource("/events");
  stream.onopen = () => tell({ name: "open" });
  stream.onerror = () => tell({ name: "error" });
  for (const name of ["journal", "check", "fault"]) {
    stream.addEventListener(name, (event) => tell({ name, data: JSON.parse(event.data) }));
  }
  return new Promise(() => {});
}

function follow() {
  if (!navigator.locks) {
    listen();
    return;
  }
  const channel = new BroadcastChannel("journal");
  channel.onmessage = ({ data }) => heard(data);
  channel.postMessage({ name: "ask" }); // what was told between the making of this page and now
  navigator.locks.request("journal", () => {
    channel.close();
    return listen();
  });
}

document.addEventListener("keydown", pressed);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) {
    tick();
    if (waiting) refresh();
  }
});
setInterval(tick, TICK_MS);
setInterval(() => concerns(["*"]) && refresh(), 6 * TICK_MS); // leases end without a write
tick();
follow();
