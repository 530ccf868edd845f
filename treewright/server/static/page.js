// The workbench's page. Everything that comes from the service is set as text; drawings are parsed as SVG and cleaned.
import { bringIntoSight, drawDifference, h, mountViewer, number, shownAction } from "/static/viewer/viewer.js";

const $ = (id) => document.getElementById(id);
const TABS = ["analyse", "steps", "compare", "grammar"];
const FORMS = { analyse: "input", steps: "steps-form", compare: "compare-form", grammar: "grammar-form" };
const TOY = `# The two readings of a famous sentence
S -> NP VP
NP -> Det N [3] | NP PP [1]
VP -> V NP [2] | VP PP [1]
PP -> P NP
Det -> the
N -> man | dog | telescope
V -> saw
P -> with
`;

// ---- the view, as a link holds it

const DEFAULTS = { tab: "analyse", text: "", model: "", layer: "", sentence: 0, step: 0, kind: "", beam: "", gold: "", follow: false, prefix: [], a: "", b: "", compareLayer: "", rules: "", grammarText: "", search: "cky" };
const view = { ...DEFAULTS };
let models = [];
let viewer = null; // of the steps
let shown = null; // what was analysed last
let base = null; // the trace that a what-if departs from

function readLink() {
  try {
    const found = JSON.parse(decodeURIComponent(location.hash.slice(1)) || "{}");
    for (const key of Object.keys(DEFAULTS)) if (typeof found[key] === typeof DEFAULTS[key] && Array.isArray(found[key]) === Array.isArray(DEFAULTS[key])) view[key] = found[key];
  } catch { /* not a link of ours */ }
  if (!TABS.includes(view.tab)) view.tab = "analyse";
}

function keepLink() {
  const changed = Object.fromEntries(Object.entries(view).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(DEFAULTS[key])));
  history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify(changed)));
}

function fillForms() {
  $("text").value = view.text;
  $("gold").value = view.gold;
  $("follow").checked = view.follow;
  $("examples").hidden = Boolean(view.text);
  $("beam").value = view.beam;
  $("rules").value = view.rules || TOY;
  $("grammar-text").value = view.grammarText || "the man saw the dog with the telescope";
  $("search").value = view.search;
  if (view.gold) $("gold-details").open = true;
}

function readForms() {
  Object.assign(view, { text: $("text").value, model: $("model").value, layer: $("layer").value, sentence: Number($("sentence").value) || 0, gold: $("gold").value, follow: $("follow").checked, beam: $("beam").value, kind: $("kind-label").hidden ? "" : $("kind").value,
    a: $("model-a").value, b: $("model-b").value, compareLayer: $("compare-layer").value, rules: $("rules").value === TOY ? "" : $("rules").value, grammarText: $("grammar-text").value, search: $("search").value });
}

// ---- talking to the service

async function ask(path, body) {
  say("Working …");
  let answer;
  try {
    answer = await fetch(path, body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {});
  } catch {
    throw new Error("The server does not answer.");
  }
  const text = await answer.text();
  let found;
  try { found = JSON.parse(text); } catch { found = { message: text }; }
  if (!answer.ok) throw new Error(found.message || `The server says ${answer.status}.`);
  say("");
  return found;
}

function say(text, isError = false) {
  $("status").textContent = text;
  $("status").classList.toggle("error", isError);
}

// Say something that need not be read.
function tell(text) {
  say(text);
  setTimeout(() => { if ($("status").textContent === text) say(""); }, 3000);
}

const guarded = (work) => async (event) => {
  event?.preventDefault?.();
  try { await work(event); } catch (error) { say(error.message, true); }
};

// ---- drawings and downloads

function cleanDrawing(text) {
  const plain = text.replace(/<style>[^<]*<\/style>/g, ""); // the page has its own style sheet, and its policy no other
  const found = new DOMParser().parseFromString(plain, "image/svg+xml").documentElement;
  if (found.localName !== "svg") return document.createTextNode("");
  for (const each of found.querySelectorAll("style, script, foreignObject, a, image, use")) each.remove();
  for (const each of [found, ...found.querySelectorAll("*")]) for (const { name } of [...each.attributes]) if (/^(on|href|xlink|style)/i.test(name)) each.removeAttribute(name);
  return document.importNode(found, true);
}

function download(name, text, type) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const TYPES = { conllu: ["conllu", "text/plain"], brackets: ["ptb", "text/plain"], penman: ["amr", "text/plain"], svg: ["svg", "image/svg+xml"], json: ["json", "application/json"] };

function saveButtons(name, text, format, title) {
  const [suffix, type] = TYPES[format];
  return h("span", { class: "save" },
    h("button", { type: "button", "data-download": format, title: `Download ${title}`, onclick: () => download(`${name}.${suffix}`, text, type) }, `↓ ${title}`),
    h("button", { type: "button", "data-copy": format, title: `Copy ${title}`, "aria-label": `copy ${title}`, onclick: guarded(async () => { await navigator.clipboard.writeText(text); tell(`${title} copied`); }) }, "copy"));
}

// ---- analysing

async function analyse() {
  readForms();
  const width = Math.max(280, Math.floor($("results").clientWidth || document.documentElement.clientWidth - 40) - 4);
  shown = await ask("/api/parse", { text: view.text, model: view.model || null, drawings: true, width });
  fillSentences(shown.sentences.length);
  const parts = [h("div", { class: "row" }, saveButtons("analysis", shown.conllu, "conllu", "CoNLL-U"), saveButtons("analysis", JSON.stringify(shown, null, 1), "json", "JSON"))];
  if (shown.sentences.length > 1) parts.push(h("ol", { class: "contents" }, shown.sentences.map((each, k) => h("li", {}, h("a", { href: `#s${k + 1}`, onclick: (event) => { event.preventDefault(); document.getElementById(`s${k + 1}`).scrollIntoView(); } }, each.text)))));
  parts.push(...shown.sentences.map(sentenceView));
  $("results").replaceChildren(...parts);
  keepLink();
}

// The two best trees of a sentence side by side, such as the two attachments of "with the telescope".
async function twoTrees(place, k) {
  const { trees } = await ask("/api/trees", { text: view.text, model: view.model || null, sentence: k, k_best: 2, width: treeWidth(place.parentElement) });
  place.querySelector(".trees")?.remove();
  place.append(scoredTrees(trees));
}

// The width of a drawing: two are side by side if there is room for them.
const treeWidth = ({ clientWidth }) => Math.max(280, Math.min(clientWidth < 800 ? clientWidth - 24 : clientWidth / 2 - 40, 600) | 0);

const scoredTrees = (trees) => h("div", { class: "trees" }, trees.map((each, k) => h("div", {}, h("p", {}, `${k + 1}. ${each.score === null ? "not a tree of the grammar" : `score ${number(each.score)}`}`), h("figure", {}, cleanDrawing(each.drawing)))));

function sentenceView(sentence, k) {
  const tokens = h("ul", { class: "tokens", "data-layer": "tokens" }, sentence.words.map((word) => h("li", { tabindex: 0, "data-words": word.id, title: word.feats ?? "" }, word.form, h("small", { class: "upos" }, [word.upos, word.xpos].filter(Boolean).join(" · ")), h("small", { class: "lemma" }, word.lemma ?? ""))));
  const titles = { dependency: "Dependencies", constituency: "Constituents", amr: "Meaning" };
  const formats = { constituency: ["brackets", "brackets"], amr: ["penman", "PENMAN"], dependency: ["conllu", "CoNLL-U"] };
  const layers = Object.entries(sentence.drawings ?? {}).map(([layer, drawing]) => h("div", { "data-layer": layer },
    h("h3", {}, titles[layer] ?? layer, saveButtons(`${layer}-${k + 1}`, drawing, "svg", "SVG"), formats[layer] ? saveButtons(`${layer}-${k + 1}`, sentence.formats[formats[layer][0]], formats[layer][0], formats[layer][1]) : null,
      h("button", { type: "button", "data-steps": layer, onclick: guarded(() => openSteps(layer, k)) }, "step through"),
      layer === "constituency" ? h("button", { type: "button", "data-trees": 2, onclick: guarded(({ target }) => twoTrees(target.closest("[data-layer]"), k)) }, "two best trees") : null),
    h("figure", {}, cleanDrawing(drawing))));
  const section = h("section", { class: "sentence", id: `s${k + 1}` }, h("h2", {}, `${k + 1}. `, sentence.text), tokens, h("div", { class: "layers" }, layers));
  const light = (event) => {
    const element = event.target.closest?.("[data-words]");
    const numbers = new Set((element?.getAttribute("data-words") ?? "").split(" ").filter(Boolean));
    for (const each of section.querySelectorAll("[data-words]")) {
      const own = each.getAttribute("data-words").split(" ").filter(Boolean);
      const lit = numbers.size === 1 ? own.some((one) => numbers.has(one)) : numbers.size > 1 && own.length > 0 && (each === element || own.every((one) => numbers.has(one)));
      each.classList.toggle("tw-lit", lit);
    }
  };
  const off = () => section.querySelectorAll(".tw-lit").forEach((each) => each.classList.remove("tw-lit"));
  section.addEventListener("mouseover", light);
  section.addEventListener("focusin", light);
  section.addEventListener("mouseleave", off);
  section.addEventListener("focusout", off);
  return section;
}

// ---- step by step

const KINDS = { derivation: "the tree from the top", chart: "the chart", pops: "the agenda" };

const componentsOf = (name) => (models.find((each) => each.name === name) ?? models[0])?.components ?? [];

const layersOf = (name) => componentsOf(name).map((each) => each.gives[0]);

function fillLayers() {
  const layers = layersOf(view.model);
  if (!layers.includes(view.layer)) view.layer = layers.includes("dependency") ? "dependency" : layers[layers.length - 1] ?? "";
  $("layer").replaceChildren(...layers.map((each) => h("option", { value: each, selected: each === view.layer }, each)));
  onLayer();
}

// The first kind is the usual one, which a request need not name.
function onLayer() {
  const kinds = componentsOf(view.model).find((each) => each.gives[0] === $("layer").value)?.kinds ?? [];
  $("kind-label").hidden = kinds.length < 2;
  $("kind").replaceChildren(...kinds.map((each, k) => h("option", { value: k ? each : "", selected: each === view.kind }, KINDS[each])));
}

function fillSentences(count) {
  $("sentence").replaceChildren(...Array.from({ length: count }, (_, k) => h("option", { value: k, selected: k === view.sentence }, `${k + 1}`)));
}

function openSteps(layer, sentence) {
  Object.assign(view, { tab: "steps", layer, sentence, step: 0, prefix: [], kind: "" });
  $("layer").value = layer;
  $("sentence").value = String(sentence);
  onLayer();
  showTab("steps");
  return steps();
}

function traceRequest(extra = {}) {
  const body = { text: view.text, model: view.model || null, layer: view.layer, sentence: view.sentence, gold: view.gold, follow: view.follow && view.gold.trim() ? "gold" : "model", explain: true, ...extra };
  if (view.beam) body.beam = Number(view.beam);
  if (view.kind) body.kind = view.kind;
  return body;
}

async function steps() {
  readForms();
  const { trace, sentences } = await ask("/api/trace", traceRequest());
  fillSentences(sentences);
  base = trace;
  let other = null;
  if (view.prefix.length) other = (await ask("/api/trace", traceRequest({ prefix: view.prefix, follow: "model" }))).trace;
  showSteps(other ?? trace, other ? base : null);
  keepLink();
}

function showSteps(trace, other) {
  viewer = mountViewer($("viewer"), trace, {
    view: { step: view.step, other: null },
    onStep: (step) => { view.step = step; keepLink(); },
    onWhatIf: (step, action, from) => guarded(() => whatIf(step, action, from))(),
  });
  const note = $("prefix");
  note.hidden = !other;
  if (other) {
    const at = view.prefix.length - 1, instead = other.steps[at]?.candidates[other.steps[at].chosen]?.action ?? "nothing";
    note.replaceChildren(`What if: step ${at} takes ${shownAction(trace, view.prefix[at])} instead of ${shownAction(trace, instead)}. `,
      h("button", { type: "button", id: "back-to-model", onclick: guarded(() => { view.prefix = []; return steps(); }) }, "Back to the model's own steps"));
    keepDifference(other, trace);
  }
}

// The difference stays below while one steps through what would have happened.
function keepDifference(other, trace) {
  const panel = $("viewer").querySelector(".tw-difference");
  const drawn = drawDifference(other, trace, undefined, panel.clientWidth || 900);
  const put = () => { if (!panel.childNodes.length) panel.replaceChildren(...drawn); };
  new MutationObserver(put).observe(panel, { childList: true });
  panel.replaceChildren(...drawn);
  bringIntoSight(panel);
}

async function whatIf(step, action, from) {
  const taken = from.steps.slice(0, step).map((each) => each.candidates[each.chosen].action);
  view.prefix = [...taken, action];
  view.step = step;
  const { trace } = await ask("/api/trace", traceRequest({ prefix: view.prefix, follow: "model" }));
  showSteps(trace, base);
  keepLink();
}

// ---- comparing

async function compare() {
  readForms();
  const file = $("treebank").files[0];
  const body = { models: [view.a, view.b], layer: view.compareLayer || null };
  if (file) body.treebank = await file.text();
  else body.text = view.text;
  const found = await ask("/api/compare", body);
  $("comparison").replaceChildren(...(file ? treebankView(found) : textView(found)));
  bringIntoSight($("comparison"));
  keepLink();
}

const percent = (value) => (value === undefined || value === null ? "" : (100 * value).toFixed(2).replace("-", "−"));
const titleOf = (measure) => (measure.length <= 3 ? measure.toUpperCase() : measure); // LAS, F1

function treebankView(found) {
  const { comparison } = found;
  const interval = (scores, name) => (scores[`${name}_interval`] ? ` (${scores[`${name}_interval`].map(percent).join(" to ")})` : "");
  const names = Object.keys(found.scores[0]).filter((name) => found.scores[0][`${name}_interval`]);
  return [h("h2", {}, `${found.models[0]} and ${found.models[1]} on ${comparison.sentences} ${comparison.sentences === 1 ? "sentence" : "sentences"}: ${found.layer}`),
    h("div", { class: "scroll" }, h("table", { class: "scores" }, h("tr", {}, ["score (95 % interval)", ...found.models].map((title) => h("th", {}, title))),
      names.map((name) => h("tr", {}, h("td", {}, titleOf(name)), found.scores.map((scores) => h("td", {}, percent(scores[name]), interval(scores, name))))))),
    h("p", { id: "comparison-summary" }, `${titleOf(comparison.measure)}: difference ${percent(comparison.difference)} (${comparison.interval.map(percent).join(" to ")}), p = ${number(comparison.p_randomization)}; ${comparison.a_better} sentences better with the first, ${comparison.b_better} with the second.`),
    h("ol", { class: "contents" }, found.sentences.slice(0, 200).map((row) => h("li", { "data-gap": Math.abs(row.a_errors - row.b_errors) }, row.text, h("span", { class: "note" }, ` sentence ${row.number}, errors ${row.a_errors} and ${row.b_errors}`), row.differences.length ? differenceTable(found.models, found.layer, row.differences, row.words, 6) : null)))];
}

// Where two analyses of a sentence differ in a layer, as a table: what it is about, and what each model says.
function differenceTable(models, layer, list, words, most = 30) {
  const arc = ([head, label]) => (head ? `${label} of ${words[head - 1]}` : label);
  const span = ({ start, end }) => words.slice(start, end).join(" ");
  const side = (each, name, text) => (each.in === name ? text : "");
  const row = (each) => {
    if (each.triple) return each.triple[1] === "instance" ? ["concept", side(each, "a", each.triple[2]), side(each, "b", each.triple[2])] : [each.triple[1], ...["a", "b"].map((name) => side(each, name, `${each.triple[0]} → ${each.triple[2]}`))];
    if (each.label !== undefined) return [span(each), side(each, "a", each.label), side(each, "b", each.label)];
    return [each.form, ...[each.a, each.b].map((one) => (Array.isArray(one) ? arc(one) : one))];
  };
  return h("div", { class: "scroll" }, h("table", { class: "scores differs" }, h("tr", {}, [layer, ...models].map((title) => h("th", {}, title))),
    list.slice(0, most).map((each) => h("tr", {}, row(each).map((text, k) => h("td", { class: k === 1 ? "only-a" : k === 2 ? "only-b" : null }, text)))),
    list.length > most ? h("tr", {}, h("td", { colspan: 3, class: "note" }, `${list.length - most} more`)) : null));
}

// The two trees of a sentence side by side, with what differs marked.
function differenceDrawing(models, sentence, layer) {
  const trace = (own) => (layer === "dependency" ? { kind: "arcs", words: sentence.words, result: { heads: own.words.map((each) => each.head), labels: own.words.map((each) => each.deprel) } }
    : { kind: "derivation", words: sentence.words, result: { tree: own.constituents } });
  return h("div", { class: "tw-viewer" }, drawDifference(trace(sentence.a), trace(sentence.b), models, $("comparison").clientWidth - 40).slice(2)); // less the numbers of the list
}

function textView(found) {
  return [h("h2", {}, `Where ${found.models[0]} and ${found.models[1]} differ`), h("ol", { class: "contents" }, found.order.map((k) => {
    const sentence = found.sentences[k], differing = Object.entries(sentence.differences).filter(([, list]) => list.length);
    return h("li", { "data-count": sentence.count }, sentence.text, h("span", { class: "note" }, sentence.count ? ` ${differing.map(([layer, list]) => `${layer} ${list.length}`).join(", ")}` : " no difference"),
      differing.map(([layer, list]) => [["dependency", "constituency"].includes(layer) ? differenceDrawing(found.models, sentence, layer) : null, differenceTable(found.models, layer, list, sentence.words)]));
  }))];
}

// ---- a grammar by hand

async function parseGrammar() {
  readForms();
  const found = await ask("/api/grammar", { grammar: $("rules").value, text: view.grammarText, search: view.search, k_best: 4, width: treeWidth($("grammar-trees")) });
  $("grammar-trees").replaceChildren(found.trees.length ? scoredTrees(found.trees)
    : h("p", {}, "The grammar has no tree for this sentence; the chart shows what it can build."));
  mountViewer($("grammar-viewer"), found.trace, { view: { step: view.tab === "grammar" ? view.step : 0 }, onStep: (step) => { view.step = step; keepLink(); } });
  keepLink();
}

// ---- tabs, theme, beginning

function showTab(name) {
  view.tab = name;
  for (const tab of TABS) {
    $(tab).hidden = tab !== name;
    $(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
  }
  $("input").hidden = name === "grammar";
  $("go").hidden = name !== "analyse";
  $("model").closest(".row").hidden = name === "compare"; // which has two
}

const THEMES = ["system", "light", "dark"];

function setTheme(name) {
  if (name === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", name);
  $("theme").textContent = `Theme: ${name}`;
  try { localStorage.setItem("theme", name); } catch { /* private window */ }
}

async function begin() {
  let theme = "system";
  try { theme = localStorage.getItem("theme") ?? "system"; } catch { /* private window */ }
  setTheme(THEMES.includes(theme) ? theme : "system");
  readLink();
  fillForms();
  showTab(view.tab);
  for (const tab of TABS) $(`tab-${tab}`).addEventListener("click", () => { readForms(); if (view.tab !== tab) view.step = 0; showTab(tab); keepLink(); });
  $("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf($("theme").textContent.slice(7)) + 1) % 3]));
  $("copy-link").addEventListener("click", guarded(async () => { readForms(); keepLink(); await navigator.clipboard.writeText(location.href); tell("Link copied"); }));
  $("input").addEventListener("submit", guarded(analyse));
  $("steps-form").addEventListener("submit", guarded(() => { view.prefix = []; view.step = 0; return steps(); }));
  $("compare-form").addEventListener("submit", guarded(compare));
  $("grammar-form").addEventListener("submit", guarded(() => { view.step = 0; return parseGrammar(); }));
  document.addEventListener("keydown", (event) => { // in a box for text, Enter alone begins a new line
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.target.tagName !== "TEXTAREA") return;
    event.preventDefault();
    $(FORMS[view.tab]).requestSubmit();
  });
  $("text").addEventListener("input", () => { $("examples").hidden = Boolean($("text").value); });
  for (const example of $("examples").querySelectorAll("button")) example.addEventListener("click", () => { $("text").value = example.textContent; $("examples").hidden = true; $(FORMS[view.tab]).requestSubmit(); });
  $("model").addEventListener("change", () => { readForms(); fillLayers(); });
  $("layer").addEventListener("change", onLayer);
  const found = await ask("/api/models");
  models = found.models;
  const choose = (id, value) => $(id).replaceChildren(...models.map((each) => h("option", { value: each.name, selected: each.name === value }, each.name)));
  choose("model", view.model || found.default);
  choose("model-a", view.a || found.default);
  choose("model-b", view.b || models[Math.min(1, models.length - 1)].name);
  const layers = [...new Set(models.flatMap((each) => each.layers))].filter((each) => each !== "words");
  $("compare-layer").replaceChildren(h("option", { value: "" }, "all"), ...layers.map((each) => h("option", { value: each, selected: each === view.compareLayer }, each)));
  view.model = $("model").value;
  fillLayers();
  const { step, prefix, sentence } = view; // what the link says; analysing reads the forms
  if (view.text && view.tab !== "grammar") await analyse();
  Object.assign(view, { step, prefix, sentence });
  if ($("sentence").options[sentence]) $("sentence").selectedIndex = sentence;
  if (view.tab === "steps" && (view.text || view.gold)) await steps();
  if (view.tab === "compare" && view.text) await compare();
  if (view.tab === "grammar") await parseGrammar();
}

window.addEventListener("hashchange", () => location.reload()); // another link was opened in the same window
guarded(begin)().then(() => { document.body.dataset.ready = "true"; });
