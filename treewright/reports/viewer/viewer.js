// The trace viewer: any trace of Treewright (docs/traces.md), step by step. No other module is needed, so that a page
// can hold it as a whole. Text is only ever set as text: nothing in a trace is read as markup.

const SVG = "http://www.w3.org/2000/svg";
const FEW = 12; // actions that are shown at first
const CHAR = 7.6; // estimated width of a letter of 13 pixels

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false)
    .map((each) => (each instanceof Node ? each : String(each))));
  return element;
}

// Long labels such as Mood=Ind|Number=Sing and NextEdge(:location) may break after each part.
const breakable = (text) => String(text ?? "").replace(/[|(]/g, "$&\u200b");

const width = (text, size = 13) => Math.ceil([...String(text)].length * CHAR * size / 13);

export function number(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value.replace("Infinity", "∞").replace("-", "−");
  const size = Math.abs(value);
  const text = Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(size >= 100 ? 1 : size >= 1 ? 2 : 3);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

// ---- symbols: NP, not NP^PP~ or @NP^PP|ADJP, unless asked for

export function plain(symbol) {
  if (/^\[.*\]$/.test(symbol)) return symbol.replace(/[[\]]/g, "").split(" ").map(plain).join(" ");
  if (/^".*"$/.test(symbol) || symbol.startsWith("'")) return symbol.replace(/^["']|["']$/g, "");
  const inner = symbol.startsWith("@");
  const name = symbol.replace(/^@/, "").replace(/[~#]+$/, "").split(/[\^|]/)[0].replace(/[~#]+$/, "");
  let label = name;
  try { label = name === "%" ? "" : decodeURIComponent(name); } catch { /* not escaped */ }
  return inner ? label + "…" : label;
}

const isInner = (symbol) => symbol.startsWith("@") || /^\[.*\]$/.test(symbol);
const isWord = (symbol) => symbol.length > 2 && symbol.startsWith('"') && symbol.endsWith('"');

export function shownAction(trace, action, full) {
  if (full || !["derivation", "chart", "pops"].includes(trace.kind)) return action;
  const rule = action.match(/^(\S+) -> (.*?)( at \d+)?$/);
  if (rule && rule[2] === `${rule[1]}~`) return `${plain(rule[1])}, no unary rule`;
  if (rule) return `${plain(rule[1])} → ${rule[2].split(" ").map(plain).filter(Boolean).join(" ")}${rule[3] ?? ""}`;
  const item = action.match(/^(.*)(\[\d+:\d+\])$/);
  return item ? plain(item[1]) + item[2] : action;
}

// ---- drawings

function svgOf(wide, high, ...children) {
  return h("div", { class: "tw-scroll" },
    s("svg", { class: "tw-draw", width: Math.ceil(wide), height: Math.ceil(high), viewBox: `0 0 ${Math.ceil(wide)} ${Math.ceil(high)}`, role: "img" }, ...children));
}

// Words with arcs over them, in rows that are no wider than the room; an arc between two rows goes on at their edges.
export function drawArcs(words, arcs, mark = () => "", around = {}, room = Infinity) {
  const wides = words.map((word) => Math.max(width(word, 14), 44) + 14);
  const edge = wides.reduce((sum, each) => sum + each, 28) > room ? 32 : 14; // room for the label of an arc that comes from another row
  const rows = [], centres = [0];
  wides.forEach((wide, k) => {
    if (!k || rows.at(-1).wide + wide + edge > room) rows.push({ first: k + 1, wide: edge });
    const row = rows.at(-1);
    centres.push(row.wide + (wide - 14) / 2);
    row.wide += wide;
    row.last = k + 1;
  });
  const ordered = arcs.filter((arc) => arc.head > 0).sort((a, b) => Math.abs(a.head - a.dependent) - Math.abs(b.head - b.dependent));
  const drawn = [];
  let high = 0;
  for (const row of rows) {
    row.wide += edge - 14;
    const here = (k) => row.first <= k && k <= row.last;
    const placed = [];
    for (const arc of ordered) {
      const [low, top] = [Math.min(arc.head, arc.dependent), Math.max(arc.head, arc.dependent)];
      if (low > row.last || top < row.first) continue;
      const [from, to] = [Math.max(low, row.first - 1), Math.min(top, row.last + 1)];
      const level = 1 + Math.max(0, ...placed.filter((other) => other.from < to && other.to > from).map((other) => other.level));
      placed.push({ arc, from, to, level });
    }
    const roots = arcs.filter((arc) => arc.head === 0 && here(arc.dependent));
    const top = Math.max(rows.length > 1 ? 0 : 1, ...placed.map((each) => each.level)) + (roots.length ? 1 : 0);
    const base = high + 22 + 20 * top;
    const arrow = (at) => s("polygon", { class: "tip", points: `${at - 3.5},${base - 7} ${at + 3.5},${base - 7} ${at},${base}` });
    for (const { arc, level } of placed) {
      const [starts, ends] = [here(arc.head), here(arc.dependent)], onwards = Math.sign(arc.dependent - arc.head);
      const beyond = (k) => (k < row.first ? 0 : row.wide);
      const from = starts ? centres[arc.head] + 5 * onwards : beyond(arc.head), to = ends ? centres[arc.dependent] - 5 * onwards : beyond(arc.dependent);
      const y = base - 20 * level;
      const path = [starts ? `M${from} ${base}V${y + 6}Q${from} ${y} ${from + onwards * 6} ${y}` : `M${from} ${y}`, ends ? `H${to - onwards * 6}Q${to} ${y} ${to} ${y + 6}V${base - 7}` : `H${to}`];
      const side = starts && ends ? "middle" : Math.min(from, to) === 0 ? "start" : "end"; // a label stays within its row
      const x = { middle: (from + to) / 2, start: 2, end: row.wide - 2 }[side];
      drawn.push(s("g", { class: mark(arc) || null, "data-words": `${arc.head} ${arc.dependent}` }, s("path", { d: path.join("") }), ends ? arrow(to) : null,
        starts || ends ? s("text", { class: "l", x, y: y - 4, "font-size": 10.5, "text-anchor": side }, arc.label ?? "") : null));
    }
    for (const arc of roots) {
      const at = centres[arc.dependent];
      drawn.push(s("g", { class: mark(arc) || null, "data-words": arc.dependent }, s("path", { d: `M${at} ${base - 20 * top + 8}V${base - 7}` }), arrow(at),
        s("text", { class: "l", x: at, y: base - 20 * top + 3, "font-size": 10.5, "text-anchor": "middle" }, arc.label ?? "root")));
    }
    for (let k = row.first; k <= row.last; k++) drawn.push(s("text", { x: centres[k], y: base + 17, "font-size": 14, "text-anchor": "middle", "data-words": k, class: around[k] ?? null }, words[k - 1]));
    high = base + 26;
  }
  return svgOf(Math.max(edge, ...rows.map((row) => row.wide)), high, ...drawn);
}

// A tree of {label, children, kind, marks}: words and tags at the bottom, each node over its children.
export function drawTree(root) {
  const levels = [];
  let x = 10;
  const place = (node, depth) => {
    node.depth = depth;
    levels[depth] = true;
    const own = Math.max(width(node.label) + (node.box ? 18 : 8), width(node.role ?? "", 10.5) + 12);
    if (!node.children.length) {
      node.x = x + own / 2;
      x += own + 10;
      return;
    }
    const start = x;
    node.children.forEach((child) => place(child, depth + 1));
    const first = node.children[0], last = node.children[node.children.length - 1];
    node.x = (first.x + last.x) / 2;
    if (x - start < own + 10) { // the label is wider than what is below
      const more = own + 10 - (x - start);
      shift(node, more / 2, true);
      x += more;
      node.x = start + own / 2;
    }
  };
  const shift = (node, by, below = false) => {
    if (!below) node.x += by;
    node.children.forEach((child) => shift(child, by));
  };
  place(root, 0);
  const drawn = [];
  const hasRoles = (node) => Boolean(node.role) || node.children.some(hasRoles);
  const high = hasRoles(root) ? 60 : 42;
  const y = (node) => 20 + node.depth * high;
  const draw = (node) => {
    for (const child of node.children) { // a role stands over its node, where there is room for it
      drawn.push(s("g", { class: child.marks || null },
        s("path", { class: node.dashed || child.dashed ? "dashed" : null, d: `M${node.x} ${y(node) + 7}L${child.x} ${y(child) - (child.role ? 30 : 13)}` }),
        child.role ? s("text", { class: "l", x: child.x, y: y(child) - 20, "font-size": 10.5, "text-anchor": "middle" }, child.role) : null));
      draw(child);
    }
    const wide = width(node.label) + 12;
    drawn.push(s("g", { class: node.marks || null },
      node.box ? s("rect", { class: node.focus ? "focus" : null, x: node.x - wide / 2, y: y(node) - 15, width: wide, height: 21, rx: 5 }) : null,
      s("text", { class: node.word ? null : "l", x: node.x, y: y(node), "font-size": 13, "text-anchor": "middle", "font-style": node.open ? "italic" : null }, node.label)));
  };
  draw(root);
  for (const extra of root.extra ?? []) {
    const [a, b] = extra.ends;
    const mid = (a.x + b.x) / 2, low = Math.max(y(a), y(b)) + 26;
    drawn.push(s("g", { class: extra.marks || null }, s("path", { class: "dashed", d: `M${a.x} ${y(a) + 6}Q${mid} ${low + 16} ${b.x} ${y(b) + 6}` }),
      s("text", { class: "l tw-over", x: mid, y: low + 8, "font-size": 10.5, "text-anchor": "middle" }, extra.role)));
  }
  return svgOf(x + 10, (levels.length - 1) * high + 42 + (root.extra?.length ? 30 : 0), ...drawn);
}

// The partial tree of a derivation: constituents come parents before children, and left before right.
function derivationTree(state, full, mark = () => "") {
  const open = new Set(state.open.map((each) => `${each.symbol} ${each.start} ${each.end}`));
  const nodes = state.constituents.map((each) => ({ ...each, children: [], isOpen: open.has(`${each.symbol} ${each.start} ${each.end}`) }));
  const stack = [];
  let root = null;
  for (const node of nodes) {
    while (stack.length && !(stack[stack.length - 1].start <= node.start && node.end <= stack[stack.length - 1].end && !isWord(stack[stack.length - 1].symbol))) stack.pop();
    if (!root) root = node;
    else stack[stack.length - 1].children.push(node);
    stack.push(node);
  }
  const focus = state.focus;
  const shown = (node) => {
    let children = node.children.flatMap((child) => shown(child));
    if (!full && isInner(node.symbol) && !node.isOpen && !/^\[/.test(node.symbol)) return children;
    if (!full && node !== root && children.length === 1 && node.symbol.replace(/~$/, "") !== node.symbol && node.parentSame) return children;
    const label = full ? node.symbol : plain(node.symbol);
    return [{ label: isWord(node.symbol) ? node.symbol.slice(1, -1) : label, children, word: isWord(node.symbol), open: node.isOpen, dashed: node.isOpen,
      box: node.isOpen, focus: focus && node.isOpen && focus.symbol === node.symbol && focus.start === node.start && focus.end === node.end,
      marks: mark(label, node.start, node.end) }];
  };
  const [tree] = full ? shown(root) : shown(root).map((each) => merged(each));
  return tree;
}

// NP over its own bottom NP~ is one constituent.
function merged(node) {
  node.children = node.children.map(merged);
  if (node.children.length === 1 && node.children[0].label === node.label && !node.word) {
    const [child] = node.children;
    return { ...child, marks: node.marks || child.marks };
  }
  return node;
}

export function readBrackets(text) {
  const tokens = text.match(/\(|\)|[^\s()]+/g) ?? [];
  let at = 0, word = 0;
  const read = () => {
    at += 1;
    const node = { label: "", children: [], start: word };
    if (tokens[at] !== "(" && tokens[at] !== ")") node.label = tokens[at++];
    while (at < tokens.length && tokens[at] !== ")") {
      if (tokens[at] === "(") node.children.push(read());
      else { node.children.push({ label: tokens[at++], children: [], word: true, start: word, end: word + 1 }); word += 1; }
    }
    at += 1;
    node.end = word;
    return node;
  };
  const root = read();
  return root.label === "" && root.children.length === 1 ? root.children[0] : root;
}

// The keys of all constituents; an NP that consists of another NP has another key than that.
function spans(tree, found = new Set()) {
  if (!tree.word) {
    tree.key = `${tree.label} ${tree.start} ${tree.end}`;
    while (found.has(tree.key)) tree.key += " again";
    found.add(tree.key);
  }
  tree.children.forEach((child) => spans(child, found));
  return found;
}

const markTree = (tree, others, name) => ({ ...tree, marks: !tree.word && !others.has(tree.key) ? name : "", children: tree.children.map((child) => markTree(child, others, name)) });

function graphTree(state, mark = () => "") {
  const nodes = new Map(state.nodes.map((each) => [each.node, { ...each, id: each.node, label: each.label, children: [], box: true, dashed: !each.is_concept, focus: state.focus === each.node, marks: mark(each.label) }]));
  const below = new Set();
  const extra = [];
  for (const edge of state.edges) {
    const a = nodes.get(edge.source), b = nodes.get(edge.target);
    if (!a || !b) continue;
    const role = edge.role ?? edge.relation ?? "";
    if (edge.in_tree && !below.has(b.id) && !leadsTo(b, a)) {
      below.add(b.id);
      b.role = role;
      a.children.push(b);
    } else extra.push({ ends: [a, b], role, marks: mark(role) });
  }
  const roots = [...nodes.values()].filter((node) => !below.has(node.id));
  const root = roots.length === 1 ? roots[0] : { label: "", children: roots };
  root.extra = extra;
  return root;
}

const leadsTo = (from, to) => from === to || from.children.some((child) => leadsTo(child, to));

// ---- charts

function drawChart(words, cells, options) {
  const { now, back, onCell, full, used, room } = options;
  const n = words.length;
  const usual = Math.max(78, ...words.map((word) => Math.min(width(word, 12) + 10, 120)));
  const wide = Math.max(36, Math.min(usual, Math.floor((room - 16) / n))), high = n > 14 ? 24 : 34; // as wide as there is room
  const letters = wide < 46 ? 10.5 : 12;
  const short = (text, size) => (width(text, size) > wide - 4 ? text.slice(0, Math.max(Math.floor((wide - 12) / (CHAR * size / 13)), 1)) + "…" : text);
  const drawn = [];
  for (let size = 1; size <= n; size++) {
    for (let start = 0; start + size <= n; start++) {
      const end = start + size, key = `${start} ${end}`, cell = cells.get(key);
      const x = 8 + start * wide + (size - 1) * wide / 2, y = 8 + (n - size) * high;
      const names = [...new Set((cell?.items ?? []).filter((item) => full || (item.label !== null && item.label !== undefined)).filter((item) => !item.pruned).map((item) => (full ? item.symbol : item.label)))];
      const count = wide < 60 ? 1 : 2;
      const fits = Math.floor((wide - 10) / 7);
      const text = names.slice(0, count).join(" ") + (names.length > count ? "…" : "");
      drawn.push(s("g", { class: ["cell", cell ? "" : "empty", now === key ? "now" : "", back.has(key) ? "back" : "", used.has(key) && cell ? "used" : ""].join(" "), tabindex: 0, role: "button", "data-cell": key,
        "aria-label": `${words.slice(start, end).join(" ")}: ${names.join(", ") || "nothing"}`,
        onclick: () => onCell(key), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); onCell(key); } } },
        s("rect", { x: x + 1, y: y + 1, width: wide - 2, height: high - 2, rx: 3 }),
        s("text", { x: x + wide / 2, y: y + high / 2 + 4, "font-size": 11, "text-anchor": "middle" }, text.length > fits ? text.slice(0, Math.max(fits - 1, 1)) + "…" : text)));
    }
  }
  words.forEach((word, k) => drawn.push(s("text", { x: 8 + k * wide + wide / 2, y: 8 + n * high + 16, "font-size": letters, "text-anchor": "middle" }, s("title", {}, word), short(word, letters))));
  return svgOf(16 + n * wide, 8 + n * high + 26, ...drawn);
}

// ---- the viewer

let lastUsed = null; // keys are for the viewer that was used last, or at first for the one that is mounted with `keys`

export function mountViewer(root, trace, options = {}) {
  const view = { trace, step: 0, full: false, all: false, selected: null, cell: null, pointer: null, playing: null, speed: 1, other: null, ...options.view };
  root.classList.add("tw-viewer");
  root.replaceChildren();
  const last = () => Math.max(view.trace.steps.length - 1, 0);
  view.step = Math.min(Math.max(view.step | 0, 0), last());
  const state = h("div", { class: "tw-panel tw-state" }), actions = h("div", { class: "tw-panel tw-choices" });
  const why = h("div", { class: "tw-wide tw-why" }), lineage = h("div", { class: "tw-wide tw-lineage" }), difference = h("div", { class: "tw-wide tw-difference" });
  const slider = h("input", { type: "range", min: 0, max: last(), value: view.step, "aria-label": "Step", oninput: () => go(Number(slider.value)) });
  const where = h("output", { class: "tw-where" });
  const play = h("button", { type: "button", class: "tw-play", onclick: () => toggle() }, "Play");
  const speed = h("select", { "aria-label": "Speed", class: "tw-speed", onchange: () => { view.speed = Number(speed.value); if (view.playing) { toggle(); toggle(); } } },
    [0.5, 1, 2, 4, 8].map((each) => h("option", { value: each, selected: each === view.speed }, `${each}×`)));
  const firstError = view.trace.steps.findIndex((step) => step.chosen !== null && (step.candidates[step.chosen].cost ?? 0) > 0);
  const button = (text, label, act, name) => h("button", { type: "button", "aria-label": label, title: label, class: name, onclick: act }, text);
  const symbols = ["derivation", "chart", "pops"].includes(view.trace.kind)
    ? h("label", { class: "tw-full" }, h("input", { type: "checkbox", checked: view.full, onchange: (event) => { view.full = event.target.checked; show(); } }), " full symbols") : null;
  root.append(
    h("div", { class: "tw-controls", role: "group", "aria-label": "Steps" },
      button("|◀", "First step (Home)", () => go(0), "tw-first"), button("◀", "Step back (left arrow)", () => go(view.step - 1), "tw-back"), play,
      button("▶", "Step on (right arrow)", () => go(view.step + 1), "tw-next"), button("▶|", "Last step (End)", () => go(last()), "tw-last"), speed, slider, where,
      view.trace.has_gold ? button(firstError < 0 ? "no error" : "first error", "First error (e)", () => { if (firstError >= 0) go(firstError); }, "tw-first-error") : null, symbols),
    h("div", { class: "tw-panels" + ({ chart: " tw-one", pops: " tw-one", transitions: "", arcs: "" }[view.trace.kind] ?? " tw-even") }, state, actions), why, lineage, difference);
  root.tabIndex = -1;

  function go(step) {
    view.step = Math.min(Math.max(step, 0), last());
    view.selected = null;
    view.pointer = null;
    view.cell = null;
    show();
    options.onStep?.(view.step);
  }

  function toggle() {
    if (view.playing) {
      clearInterval(view.playing);
      view.playing = null;
    } else {
      if (view.step === last()) go(0);
      view.playing = setInterval(() => { if (view.step >= last() || !state.isConnected) toggle(); else go(view.step + 1); }, 900 / view.speed);
    }
    play.textContent = view.playing ? "Pause" : "Play";
  }

  function onKey(event) {
    if (!state.isConnected) { document.removeEventListener("keydown", onKey); return; } // another trace is in its place
    const isMeant = lastUsed?.offsetParent ? lastUsed === root : options.keys !== false;
    if (!isMeant || root.offsetParent === null || event.ctrlKey || event.altKey || event.metaKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target !== slider) return;
    const keys = { ArrowLeft: () => go(view.step - 1), ArrowRight: () => go(view.step + 1), Home: () => go(0), End: () => go(last()), e: () => { if (firstError >= 0) go(firstError); } };
    if (event.key === " " && event.target.tagName !== "BUTTON" && event.target.tagName !== "g") keys[" "] = toggle;
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
  document.addEventListener("keydown", onKey);
  for (const kind of ["pointerdown", "focusin"]) root.addEventListener(kind, () => { lastUsed = root; });

  function show() {
    const step = view.trace.steps[view.step];
    slider.value = view.step;
    if (!step) {
      where.textContent = "no steps";
      state.replaceChildren(h("p", {}, "The model cannot derive this sentence; what it returns is put together from parts."));
      return;
    }
    where.textContent = `step ${view.step} of ${last()}`;
    state.replaceChildren(...drawState(step));
    actions.replaceChildren(...drawActions(step));
    why.replaceChildren(...drawWhy(step));
    lineage.replaceChildren(...drawLineage());
    difference.replaceChildren(...(view.other ? drawDifference(view.trace, view.other, undefined, root.clientWidth || 900) : []));
    for (const panel of [state, lineage]) bringIntoSight(panel, "rect.focus, .cell.now, .tw-here"); // what is decided on
    bringIntoSight(difference);
  }

  function drawState(step) {
    const words = view.trace.words, name = (k) => (k === 0 ? "root" : words[k - 1]), now = step.state;
    const chips = (numbers, most) => h("ul", { class: "tw-chips" }, numbers.slice(0, most).map((k) => h("li", { class: "tw-chip" }, name(k))),
      numbers.length > most ? h("li", { class: "tw-chip" }, `+${numbers.length - most}`) : null);
    const measures = Object.entries(step.measures ?? {}).map(([key, value]) => `${key} ${number(value)}`).join(" · ");
    const out = [];
    switch (view.trace.kind) {
      case "transitions": {
        const stack = now.stack.slice(-FEW), hidden = now.stack.length - stack.length;
        out.push(h("dl", { class: "tw-named" },
          h("dt", {}, "stack"), h("dd", { class: "tw-stack" }, h("ul", { class: "tw-chips" }, hidden ? h("li", { class: "tw-chip" }, `+${hidden}`) : null, stack.map((k, at) => h("li", { class: "tw-chip" + (at === stack.length - 1 ? " tw-now" : "") }, name(k))))),
          h("dt", {}, "buffer"), h("dd", { class: "tw-buffer" }, chips(now.buffer, FEW)),
          now.pending ? [h("dt", {}, "label of"), h("dd", {}, now.pending)] : null));
        out.push(h("h3", {}, "Arcs so far"), drawArcs(words, now.arcs, () => "", { [now.buffer[0]]: "tw-here" }, state.clientWidth || Infinity));
        break;
      }
      case "arcs":
        if (now.focus) out.push(h("p", {}, `Next: ${now.focus.kind}, words ${now.focus.first} to ${now.focus.last}`));
        out.push(h("h3", {}, "Arcs so far"), drawArcs(words, now.arcs, () => "", {}, state.clientWidth || Infinity));
        break;
      case "tags":
        out.push(h("ul", { class: "tw-chips" }, words.map((word, k) => h("li", { class: "tw-chip" + (k === now.position ? " tw-now" : "") }, word, h("small", {}, breakable(now.labels[k]))))));
        break;
      case "tokens": {
        const [before, after] = now.context.split("|", 2);
        out.push(h("p", { class: "tw-context" }, before, h("b", {}, "|"), after ?? ""));
        break;
      }
      case "derivation":
        out.push(drawTree(derivationTree(now, view.full)));
        break;
      case "graph":
        out.push(h("p", { class: "tw-note" }, now.phase === "tree" ? "First phase: the tree" : "Second phase: further edges"), now.nodes.length ? drawTree(graphTree(now)) : h("p", {}, "nothing left"));
        break;
      case "chart":
      case "pops":
        out.push(...chartState(step));
        break;
    }
    if (measures) out.push(h("p", { class: "tw-note tw-measures" }, measures));
    if (step.note) out.push(h("p", { class: "tw-note" }, step.note));
    return out;
  }

  function cells() {
    const found = new Map();
    for (const step of view.trace.steps.slice(0, view.step + 1)) {
      if (view.trace.kind === "chart") {
        if (step.state.items.length || step.number < last()) found.set(`${step.state.start} ${step.state.end}`, step.state);
      } else if (step.state.item) {
        const { item } = step.state, key = `${item.start} ${item.end}`;
        if (!found.has(key)) found.set(key, { start: item.start, end: item.end, items: [] });
        found.get(key).items.push({ ...item, label: item.label === undefined ? plain(item.symbol) : item.label, inside: step.measures.inside, used: step.state.used, parts: item.parts ?? [], priority: step.measures.priority });
      }
    }
    return found;
  }

  function chartState(step) {
    const filledCells = cells(), current = view.trace.kind === "chart" ? step.state : step.state.item;
    const now = current && !(view.trace.kind === "chart" && view.step === last()) ? `${current.start} ${current.end}` : `0 ${view.trace.words.length}`;
    const key = view.cell ?? now, cell = filledCells.get(key);
    const back = new Set((view.pointer?.parts ?? []).map((part) => `${part.start} ${part.end}`));
    const used = new Set([...filledCells].filter(([, each]) => each.items.some((item) => item.used)).map(([each]) => each));
    const chart = drawChart(view.trace.words, filledCells, { now: key, back, used, full: view.full, room: state.clientWidth || 900, onCell: (each) => { view.cell = each; view.pointer = null; show(); } });
    const out = [];
    const [start, end] = key.split(" ").map(Number);
    out.push(h("h3", {}, `Cell ${start}–${end}: ${view.trace.words.slice(start, end).join(" ")}`));
    const seen = new Set(); // NP and its bottom NP~ are one, unless full symbols are asked for
    const items = (cell?.items ?? []).filter((item) => view.full || (item.label !== null && !seen.has(item.label) && seen.add(item.label)));
    if (!items.length) out.push(h("p", { class: "tw-note" }, "no constituents"));
    else {
      const rows = items.slice(0, view.all ? 100 : FEW).map((item) => h("tr", {},
        h("td", {}, item.parts.length ? h("button", { type: "button", class: "tw-pointer", onclick: () => { view.pointer = item; view.cell = key; show(); } }, h("span", { class: item.pruned ? "tw-pruned" : item.used ? "tw-used" : null }, view.full ? item.symbol : item.label))
          : h("span", { class: item.pruned ? "tw-pruned" : item.used ? "tw-used" : null }, view.full ? item.symbol : item.label ?? plain(item.symbol))),
        h("td", {}, number(item.inside)), h("td", {}, number(item.outside ?? item.priority)),
        h("td", {}, item.parts.map((part) => `${view.full ? part.symbol : plain(part.symbol)}[${part.start}:${part.end}]`).join(" "), item.pruned ? " pruned" : "")));
      out.push(h("div", { class: "tw-scroll" }, h("table", { class: "tw-table tw-items" }, h("tr", {}, ["", "inside", view.trace.kind === "chart" ? "outside" : "priority", "from"].map((title) => h("th", {}, title))), rows)));
    }
    if (cell?.left_out) out.push(h("p", { class: "tw-note" }, `${cell.left_out} more are left out.`));
    if (view.trace.kind === "pops") {
      const name = (item) => `${view.full ? item.symbol : item.label ?? plain(item.symbol)}[${item.start}:${item.end}]`;
      const pops = view.trace.steps.slice(Math.max(0, view.step - 9), view.step + 1).filter((each) => each.state.item);
      const point = (item) => { view.pointer = { ...item, parts: item.parts ?? [] }; view.cell = `${item.start} ${item.end}`; show(); };
      out.push(h("div", { class: "tw-queue" },
        h("div", {}, h("h3", {}, "Pops"), h("ol", { class: "tw-pops", start: Math.max(0, view.step - 9) }, pops.map((each) => h("li", { class: each.state.used ? "tw-used" : null },
          h("button", { type: "button", class: "tw-pointer", title: "what it was built from", onclick: () => point(each.state.item) }, name(each.state.item)), `  ${number(each.measures.priority)}`)))),
        step.state.waiting ? h("div", {}, h("h3", {}, `Agenda (${step.state.waiting})`), h("ol", { class: "tw-agenda" }, step.state.agenda.map((item, k) => h("li", { class: k ? null : "tw-next-pop" }, `${name(item)}  ${number(item.priority)}`)),
          step.state.waiting > step.state.agenda.length ? h("li", { class: "tw-note" }, `and ${step.state.waiting - step.state.agenda.length} more`) : null)) : null));
    }
    if (view.pointer) {
      const named = (item) => `${view.full ? item.symbol : plain(item.symbol)}[${item.start ?? start}:${item.end ?? end}]`;
      out.push(h("p", { class: "tw-from" }, view.pointer.parts.length ? `${named(view.pointer)} ← ${view.pointer.parts.map(named).join(" + ")}` : `${named(view.pointer)} ← ${view.trace.words.slice(start, end).join(" ")}`));
    }
    return [h("div", { class: "tw-chart" }, chart, h("div", {}, out))];
  }

  function drawActions(step) {
    if (step.chosen === null && !step.candidates.length) return [h("h3", {}, "Actions"), h("p", { class: "tw-note" }, view.step === last() ? "The end: nothing is left to decide." : "Nothing to decide.")];
    if (view.trace.kind === "chart") return [h("h3", {}, "Constituents of the cell"), h("p", { class: "tw-note" }, "Bars compare the best tree with each of them to the best tree of all."), actionList(step)];
    const legend = step.candidates.some((each) => each.probability !== undefined) ? h("p", { class: "tw-note tw-legend" }, h("i"), "score", h("i"), "probability") : null;
    return [h("h3", {}, `Actions (${step.candidates.length})`, legend), actionList(step)];
  }

  function actionList(step) {
    const rank = step.candidates.map((candidate, k) => ({ candidate, k })).sort((a, b) => value(b.candidate.score) - value(a.candidate.score));
    if (view.trace.kind === "chart" && !view.full) {
      const names = new Set();
      for (let at = 0; at < rank.length;) {
        const item = step.state.items[rank[at].k], name = item.label;
        if (name === null || names.has(name)) rank.splice(at, 1);
        else { names.add(name); at += 1; }
      }
    }
    const shown = view.all ? rank.slice() : rank.slice(0, FEW);
    if (!shown.some(({ k }) => k === step.chosen) && step.chosen !== null && rank.some(({ k }) => k === step.chosen)) shown.push(rank.find(({ k }) => k === step.chosen));
    const scores = step.candidates.map((each) => value(each.score)).filter(Number.isFinite);
    const high = Math.max(...scores), low = Math.min(...scores);
    const height = (candidate) => (Number.isFinite(value(candidate.score)) ? (high === low ? 1 : (value(candidate.score) - low) / (high - low)) : 0);
    const list = h("ul", { class: "tw-actions" + (scores.length ? "" : " tw-unscored") + (view.trace.has_gold ? " tw-judged" : "") }, shown.map(({ candidate, k }) => {
      const chosen = k === step.chosen, wrong = chosen && (candidate.cost ?? 0) > 0;
      const bars = [h("i", { class: "tw-score-bar" }), candidate.probability === undefined ? null : h("i", { class: "tw-probability-bar" })];
      bars[0].style.width = `${Math.round(100 * height(candidate))}%`;
      if (bars[1]) bars[1].style.width = `${Math.round(100 * candidate.probability)}%`;
      return h("li", { class: "tw-action" + (chosen ? " tw-chosen" : "") },
        h("button", { type: "button", "data-action": candidate.action, "aria-pressed": chosen, title: chosen ? "the action that is taken" : options.onWhatIf ? "what if this one were taken?" : "its features", onclick: () => pick(step, k) },
          (chosen ? "▸ " : "") + breakable(shownAction(view.trace, candidate.action, view.full)), wrong ? h("span", { class: "tw-error" }, " ✗ error") : null),
        !scores.length ? null : h("span", { class: "tw-bar", title: candidate.probability !== undefined ? `above the score, below the probability: ${candidate.probability.toFixed(4)}` : "the score" }, bars),
        !scores.length ? null : h("span", { class: "tw-number" }, number(candidate.score), candidate.probability !== undefined ? ` · ${(100 * candidate.probability).toFixed(1)} %` : ""),
        !view.trace.has_gold ? null : h("span", { class: "tw-number tw-cost" + (candidate.cost === undefined ? "" : candidate.cost === 0 ? " tw-zero" : " tw-pays") }, candidate.cost === undefined ? "" : `cost ${number(candidate.cost)}`));
    }));
    const more = rank.length > FEW ? h("button", { type: "button", class: "tw-more", onclick: () => { view.all = !view.all; show(); } }, view.all ? "show fewer" : `show all ${rank.length}`) : null;
    const expert = view.trace.has_gold && step.expert.length ? h("p", { class: "tw-note tw-expert" }, `expert: ${step.expert.slice(0, 6).map((each) => shownAction(view.trace, each, view.full)).join(", ")}`) : null;
    return h("div", {}, list, more, expert);
  }

  const value = (score) => (score === undefined || score === null ? -Infinity : Number(score));

  function pick(step, k) {
    if (k === step.chosen || !options.onWhatIf || view.trace.kind === "chart" || view.trace.kind === "pops") {
      view.selected = k;
      show();
    } else options.onWhatIf(view.step, step.candidates[k].action, view.trace);
  }

  function drawWhy(step) {
    const k = view.selected ?? step.chosen;
    const candidate = k === null ? null : step.candidates[k];
    if (!candidate?.features?.length) {
      return step.chosen !== null && options.onWhy && !["derivation", "chart", "pops"].includes(view.trace.kind) && step.candidates.length > 1 && !view.trace.steps.some((each) => each.candidates.some((one) => one.features?.length))
        ? [h("p", {}, h("button", { type: "button", class: "tw-ask-why", onclick: options.onWhy }, "Why? Show features and weights"))] : [];
    }
    const shares = candidate.features.map((each) => ({ name: each.name, share: each.weight === undefined ? null : each.value * each.weight }));
    const most = Math.max(...shares.map((each) => Math.abs(each.share)));
    const bar = (share) => {
      const found = h("i", {});
      found.style.width = `${Math.round(100 * Math.abs(share) / most)}%`;
      return h("span", { class: "tw-bar" }, found);
    };
    const table = (title, list, name) => !list.length ? null : h("div", {}, h("h3", {}, title), h("table", { class: `tw-features ${name}` }, list.slice(0, 12).map((each) => h("tr", {}, h("td", {}, breakable(each.name)), h("td", {}, bar(each.share)), h("td", {}, number(each.share))))));
    return [h("h3", {}, breakable(`Why ${shownAction(view.trace, candidate.action, view.full)}?`)),
      h("div", { class: "tw-tables" }, table("For it", shares.filter((each) => each.share > 0).sort((a, b) => b.share - a.share), "tw-for"), table("Against it", shares.filter((each) => each.share < 0).sort((a, b) => a.share - b.share), "tw-against"))];
  }

  function drawLineage() {
    const generations = view.trace.metadata.lineage;
    if (!generations?.length) return [];
    const wide = 132, high = 30, drawn = [];
    const best = [];
    let at = 0;
    for (let g = generations.length - 1; g >= 0; g--) { best[g] = at; at = generations[g][at].parent; }
    generations.forEach((generation, g) => generation.forEach((each, k) => {
      const x = 8 + g * wide, y = 8 + k * high, wins = best[g] === k;
      if (g) drawn.push(s("path", { class: wins ? null : "dashed", d: `M${8 + (g - 1) * wide + wide - 26} ${8 + each.parent * high + 11}L${x} ${y + 11}` }));
      const label = each.action ?? "end";
      drawn.push(s("g", { class: wins ? "only-b" : null }, s("rect", { class: g === view.step ? "focus" : null, x, y, width: wide - 26, height: 22, rx: 4 }),
        s("text", { x: x + (wide - 26) / 2, y: y + 15, "font-size": 10.5, "text-anchor": "middle" }, s("title", {}, `${label}: ${number(each.score)}`), label.length > 15 ? label.slice(0, 14) + "…" : label)));
    }));
    const rows = Math.max(...generations.map((each) => each.length));
    return [h("h3", {}, `Beam of ${rows}: the lineage of hypotheses`), svgOf(16 + generations.length * wide, 16 + rows * high, ...drawn)];
  }

  show();
  return {
    view, go,
    get step() { return view.step; },
    setOther(other) { view.other = other; show(); },
    replace(next) { view.trace = next; show(); },
  };
}

// Scroll wide drawings to what matters in them.
export function bringIntoSight(panel, what = ".only-a, .only-b") {
  for (const place of panel.querySelectorAll(".tw-scroll")) {
    const here = place.querySelector(what);
    if (!here || place.scrollWidth <= place.clientWidth) continue;
    const [box, frame] = [here.getBoundingClientRect(), place.getBoundingClientRect()];
    place.scrollLeft += box.left - frame.left - (place.clientWidth - box.width) / 2;
  }
}

// ---- differences of two results

export function drawDifference(a, b, titles = ["The model", "What if"], room = Infinity) {
  const out = [h("h3", {}, "The difference")];
  const side = (title, drawing) => h("div", {}, h("h4", {}, title), drawing);
  const [one, two] = [a.result, b.result];
  let count = 0;
  switch (a.kind) {
    case "transitions":
    case "arcs": {
      const arcs = (result) => result.heads.map((head, k) => ({ head, dependent: k + 1, label: result.labels[k] }));
      const differs = (arc) => one.heads[arc.dependent - 1] !== two.heads[arc.dependent - 1] || one.labels[arc.dependent - 1] !== two.labels[arc.dependent - 1];
      count = arcs(one).filter(differs).length;
      out.push(h("div", { class: "tw-sides" }, side(titles[0], drawArcs(a.words, arcs(one), (arc) => (differs(arc) ? "only-a" : ""), {}, room)), side(titles[1], drawArcs(b.words, arcs(two), (arc) => (differs(arc) ? "only-b" : ""), {}, room))));
      break;
    }
    case "derivation":
    case "chart":
    case "pops": {
      const trees = [one.tree, two.tree].map((tree) => readBrackets(tree ?? "(none)"));
      const [left, right] = trees.map((tree) => spans(tree));
      count = [...left].filter((each) => !right.has(each)).length + [...right].filter((each) => !left.has(each)).length;
      out.push(h("div", { class: "tw-sides" }, side(titles[0], drawTree(markTree(trees[0], right, "only-a"))), side(titles[1], drawTree(markTree(trees[1], left, "only-b")))));
      break;
    }
    case "graph": {
      const finals = [a, b].map((trace) => trace.steps[trace.steps.length - 1].state);
      const labels = finals.map((state) => new Set([...state.nodes.map((each) => each.label), ...state.edges.map((each) => each.role ?? each.relation ?? "")]));
      count = one.graph === two.graph ? 0 : Math.max(1, [...labels[0]].filter((each) => !labels[1].has(each)).length + [...labels[1]].filter((each) => !labels[0].has(each)).length);
      out.push(h("div", { class: "tw-sides" }, finals.map((state, k) => side(titles[k], h("div", {}, state.nodes.length ? drawTree(graphTree(state, (label) => (labels[1 - k].has(label) ? "" : k ? "only-b" : "only-a"))) : "nothing", h("pre", { class: "tw-scroll" }, [one, two][k].graph))))));
      break;
    }
    default: {
      const lists = [one, two].map((result) => result.labels ?? result.tokens ?? []);
      count = lists[0].filter((label, k) => label !== lists[1][k]).length || Math.abs(lists[0].length - lists[1].length);
      out.push(h("div", { class: "tw-sides" }, lists.map((list, k) => side(titles[k], h("ul", { class: "tw-chips" }, list.map((label, at) => h("li", { class: "tw-chip" + (label !== lists[1 - k][at] ? " tw-now tw-wrong" : "") }, a.kind === "tags" ? a.words[at] : "", h("small", {}, label))))))));
    }
  }
  out.splice(1, 0, h("p", { class: "tw-note tw-count" }, count ? `${count} differ` : "Both end in the same result."));
  return out;
}
