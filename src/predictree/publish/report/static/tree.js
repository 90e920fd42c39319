"use strict";
/* The drawn tree: keyboard, branches that close, zoom, hints, and paths that light up. */
function predictreeTree(frame) {
  const svg = frame.querySelector("svg"), canvas = frame.querySelector(".canvas");
  const tip = frame.querySelector(".tip");
  const boxW = Number(frame.dataset.boxWidth), boxH = Number(frame.dataset.boxHeight);
  const down = 14, margin = 8;
  const nodes = new Map(), closed = new Set(), listeners = [];
  svg.querySelectorAll(".node").forEach((el) => nodes.set(el.dataset.id, el));
  const edges = new Map();
  svg.querySelectorAll(".edge").forEach((el) => edges.set(el.dataset.to, el));
  const fullWidth = svg.viewBox.baseVal.width;
  const size = { w: fullWidth, h: svg.viewBox.baseVal.height };
  const x = new Map();
  nodes.forEach((el, id) => x.set(id, el.transform.baseVal.getItem(0).matrix.e));
  let scale = 1;

  const childrenOf = (id) => (nodes.get(id).dataset.children || "").split(" ").filter(Boolean);
  const isOpen = (id) => childrenOf(id).length > 0 && !closed.has(id);
  const shown = () => [...nodes.values()].filter((el) => !el.hasAttribute("hidden"));

  function hide(el, away) {
    if (away) el.setAttribute("hidden", ""); else el.removeAttribute("hidden");
  }

  function place() {
    let row = 0;
    const y = new Map();
    const walk = (id) => {
      const below = isOpen(id) ? childrenOf(id) : [];
      below.forEach(walk);
      y.set(id, below.length ? (y.get(below[0]) + y.get(below[1])) / 2 : margin + row++ * (boxH + down));
    };
    walk("0");
    nodes.forEach((el, id) => {
      hide(el, !y.has(id));
      if (!y.has(id)) return;
      el.setAttribute("transform", `translate(${x.get(id)} ${y.get(id)})`);
      if (childrenOf(id).length) {
        el.setAttribute("aria-expanded", String(isOpen(id)));
        el.querySelector(".toggle text").textContent = isOpen(id) ? "−" : "+";
      }
    });
    edges.forEach((el, id) => {
      hide(el, !y.has(id));
      if (!y.has(id)) return;
      const up = nodes.get(id).dataset.parent, from = x.get(up) + boxW, to = x.get(id);
      const mid = (from + to) / 2, a = y.get(up) + boxH / 2, b = y.get(id) + boxH / 2;
      el.setAttribute("d", `M${from} ${a}C${mid} ${a} ${mid} ${b} ${to} ${b}`);
    });
    size.h = 2 * margin + row * (boxH + down) - down;
    zoom(scale);
  }

  function zoom(to) {
    scale = Math.min(2.5, Math.max(0.3, to));
    svg.setAttribute("viewBox", `0 0 ${size.w} ${size.h}`);
    svg.setAttribute("width", size.w * scale);
    svg.setAttribute("height", size.h * scale);
  }

  function fit(least) {
    zoom(Math.max(least, Math.min(1, (canvas.clientWidth - 2) / size.w)));
  }

  function toggle(id, open) {
    if (!childrenOf(id).length) return;
    if (open) closed.delete(id); else closed.add(id);
    place();
  }

  function focus(el) {
    if (!el) return;
    nodes.forEach((other) => other.setAttribute("tabindex", other === el ? "0" : "-1"));
    el.focus();
  }

  function select(id) {
    const el = nodes.get(id);
    if (!el) return;
    for (let up = el.dataset.parent; up !== ""; up = nodes.get(up).dataset.parent) closed.delete(up);
    place();
    nodes.forEach((other) => {
      other.setAttribute("aria-selected", String(other === el));
      other.setAttribute("tabindex", other === el ? "0" : "-1");
    });
    listeners.forEach((tell) => tell(id));
    reveal(el);
  }

  function reveal(el) {
    const at = el.transform.baseVal.getItem(0).matrix, x0 = at.e * scale, y0 = at.f * scale;
    const inside = (from, size, start, room) => from >= start && from + size <= start + room;
    if (!inside(x0, boxW * scale, canvas.scrollLeft, canvas.clientWidth)) {
      canvas.scrollLeft = x0 - (canvas.clientWidth - boxW * scale) / 2;
    }
    if (!inside(y0, boxH * scale, canvas.scrollTop, canvas.clientHeight)) {
      canvas.scrollTop = y0 - (canvas.clientHeight - boxH * scale) / 2;
    }
  }

  function light(name, path) {
    const lit = new Set(path.map(String));
    nodes.forEach((el, id) => el.classList.toggle(`lit-${name}`, lit.has(id)));
    edges.forEach((el, id) => el.classList.toggle(`lit-${name}`, lit.has(id)));
    path.forEach((id) => closed.delete(String(id)));
    place();
    if (path.length) reveal(nodes.get(String(path[path.length - 1])));
  }

  function hint(el) {
    tip.textContent = el.dataset.tip;
    tip.hidden = false;
    const box = el.getBoundingClientRect(), home = canvas.getBoundingClientRect();
    const left = box.left - home.left + canvas.scrollLeft;
    const room = canvas.scrollLeft + canvas.clientWidth - tip.offsetWidth - 4;
    let top = box.bottom - home.top + canvas.scrollTop + 6;
    if (top + tip.offsetHeight > canvas.scrollTop + canvas.clientHeight) {
      top = Math.max(canvas.scrollTop, box.top - home.top + canvas.scrollTop - tip.offsetHeight - 6);
    }
    tip.style.left = `${Math.max(canvas.scrollLeft + 4, Math.min(left, room))}px`;
    tip.style.top = `${top}px`;
  }

  const step = (el, by) => {
    const all = shown();
    focus(all[Math.min(all.length - 1, Math.max(0, all.indexOf(el) + by))]);
  };
  const keys = {
    ArrowDown: (el) => step(el, 1),
    ArrowUp: (el) => step(el, -1),
    Home: () => focus(shown()[0]),
    End: () => focus(shown().pop()),
    ArrowRight: (el, id) => (isOpen(id) ? focus(nodes.get(childrenOf(id)[0])) : toggle(id, true)),
    ArrowLeft: (el, id) => (isOpen(id) ? toggle(id, false) : focus(nodes.get(el.dataset.parent))),
    Enter: (el, id) => select(id),
    " ": (el, id) => select(id),
    "+": () => zoom(scale * 1.25),
    "-": () => zoom(scale / 1.25),
    Escape: () => { tip.hidden = true; },
  };

  nodes.forEach((el, id) => {
    el.addEventListener("click", (event) => {
      event.preventDefault();
      if (event.target.closest(".toggle")) toggle(id, !isOpen(id)); else select(id);
    });
    el.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key](el, id);
    });
    ["mouseenter", "focus"].forEach((when) => el.addEventListener(when, () => hint(el)));
    ["mouseleave", "blur"].forEach((when) => el.addEventListener(when, () => { tip.hidden = true; }));
  });
  const all = (close) => {
    nodes.forEach((el, id) => { if (close && childrenOf(id).length) closed.add(id); else closed.delete(id); });
    place();
  };
  const acts = {
    in: () => zoom(scale * 1.25), out: () => zoom(scale / 1.25), fit: () => fit(0.3),
    collapse: () => all(true), expand: () => all(false),
  };
  frame.querySelectorAll("[data-do]").forEach((button) => {
    button.addEventListener("click", acts[button.dataset.do]);
  });

  nodes.forEach((el, id) => el.setAttribute("tabindex", id === "0" ? "0" : "-1"));
  fit(0.3);
  return { select, light, onSelect: (tell) => listeners.push(tell) };
}
document.documentElement.classList.add("js");
