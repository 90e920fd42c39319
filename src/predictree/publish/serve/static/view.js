/* The what-if page: forms made of the model's columns, answers as they change. */
(async () => {
  const token = location.pathname.split("/")[1];
  const trouble = document.getElementById("trouble");
  const $ = (from, name) => from.querySelector(name);
  const make = (tag, attrs = {}, text) => {
    const el = document.createElement(tag);
    Object.entries(attrs).forEach(([key, value]) => el.setAttribute(key, value));
    if (text !== undefined) el.textContent = text;
    return el;
  };
  const svg = (tag, attrs) => {
    const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attrs).forEach(([key, value]) => el.setAttribute(key, value));
    return el;
  };
  const complain = (text) => { trouble.textContent = text || ""; trouble.hidden = !text; };

  async function ask(what, people) {
    const how = { headers: { "X-Predictree-Token": token } };
    if (people) Object.assign(how, { method: "POST", body: JSON.stringify({ people }) });
    const response = await fetch(`api/${what}`, how).catch(() => null);
    if (!response) throw new Error("The program that serves this page has ended: start it again.");
    const found = await response.json();
    if (!response.ok) throw new Error(found.error);
    return found;
  }

  const DAY = 86400000;
  const asDate = (days) => new Date(days * DAY).toISOString().slice(0, 10);
  const number = (v, digits = 6) => String(Number(Number(v).toPrecision(digits))).replace("-", "−");
  const percent = (v) => `${(100 * v).toFixed(1)}%`;
  const words = (field, v) => {
    if (v === null) return "missing";
    if (field.levels.length) return v < 0 ? "another level" : field.levels[v];
    return field.kind === "date" ? asDate(v) : number(v);
  };

  const form = await ask("form").catch((error) => { complain(error.message); throw error; });
  const tree = predictreeTree($(document, ".tree"));
  const people = [];

  /* One field: what shows a value, and what reads it. */
  function addField(person, field, i) {
    const box = make("fieldset", { class: "field" });
    const legend = make("legend", {}, field.name);
    if (field.splits) legend.append(make("span", { class: "tag" }, " · the tree splits by it"));
    const inputs = make("div", { class: "inputs" }), controls = [];
    const change = (v) => { person.values[i] = v; show(); update(); };
    const add = (el, read) => {
      el.setAttribute("aria-label", field.name);
      el.addEventListener("input", () => { const v = read(el.value); if (v !== undefined) change(v); });
      controls.push(el); inputs.append(el);
      return el;
    };
    const asNumber = (text) => (text === "" || !Number.isFinite(Number(text)) ? undefined : Number(text));
    if (field.levels.length) {
      const list = add(make("select"), Number);
      field.levels.forEach((level, code) => list.append(make("option", { value: code }, level)));
      if (field.other) list.append(make("option", { value: -1 }, "another level"));
    } else if (field.kind === "date") {
      add(make("input", { type: "date" }), (text) => (text ? Date.parse(text) / DAY : undefined));
    } else {
      if (field.low !== null && field.high > field.low) {
        add(make("input", { type: "range", min: field.low, max: field.high, step: field.step }), asNumber);
      }
      add(make("input", { type: "number", step: "any" }), asNumber);
    }
    let box_missing = null;
    if (field.may_miss) {
      const label = make("label", { class: "missing" });
      box_missing = make("input", { type: "checkbox", "aria-label": `${field.name} is missing` });
      label.append(box_missing, " missing");
      let known = person.values[i] ?? field.low ?? 0;
      box_missing.addEventListener("change", () => {
        if (box_missing.checked) { known = person.values[i]; change(null); } else change(known ?? field.low ?? 0);
      });
      inputs.append(label);
    }
    box.append(legend, inputs);
    $(person.el, ".fields").append(box);

    function show() {
      const v = person.values[i];
      controls.forEach((el) => {
        el.disabled = v === null;
        if (v !== null && el !== document.activeElement) el.value = field.kind === "date" ? asDate(v) : v;
      });
      if (box_missing) box_missing.checked = v === null;
      box.classList.toggle("changed", v !== person.start[i]);
    }
    person.shows.push(show);
  }

  function addPerson(name) {
    const el = document.getElementById("person").content.cloneNode(true).firstElementChild;
    const first = form.start[Math.min(people.length, form.start.length - 1)];
    const person = { name, el, shows: [], start: first.values, values: [...first.values], base: null };
    el.classList.add(name.toLowerCase());
    el.setAttribute("aria-label", `Person ${name}`);
    $(el, "h2").textContent = `Person ${name}`;
    const start = $(el, "select");
    form.start.forEach((row, i) => start.append(make("option", { value: i }, row.label)));
    start.value = String(form.start.indexOf(first));
    const begin = () => {
      person.start = form.start[Number(start.value)].values;
      person.values = [...person.start];
      person.base = null;
      person.shows.forEach((show) => show());
      update();
    };
    start.addEventListener("change", begin);
    $(el, ".reset").addEventListener("click", begin);
    $(el, "form").addEventListener("submit", (event) => event.preventDefault());
    form.fields.forEach((field, i) => addField(person, field, i));
    person.shows.forEach((show) => show());
    people.push(person);
    document.getElementById("people").append(el);
    return person;
  }

  const sign = (v) => (v > 0 ? "+" : "−");
  const main = (found) => (found.shares ? found.shares[found.chosen] : found);

  function draw(person, found) {
    const { el } = person;
    const headline = $(el, ".headline"), shares = $(el, ".shares");
    const top = main(found);
    headline.textContent = found.shares ? `${found.answer} ${percent(top.value)}` : number(found.value, 5);
    const before = found.shares ? person.base.shares[found.chosen].value : person.base.value;
    const by = top.value - before;
    if (Math.abs(by) > 1e-9) {
      const size = found.shares ? `${(100 * Math.abs(by)).toFixed(1)} points` : number(Math.abs(by), 4);
      headline.append(make("span", { class: "delta" }, ` ${sign(by)}${size} against the start`));
    }
    shares.replaceChildren(...(found.shares || []).map((share) => {
      const line = make("div", { class: "share" }), bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
      bar.append(svg("rect", { class: "value", width: 100 * share.value, height: 10 }));
      if (share.low !== null) bar.append(svg("line", { class: "spread", x1: 100 * share.low, x2: 100 * share.high, y1: 5, y2: 5 }));
      line.append(make("span", { class: "name" }, share.name), bar, make("span", { class: "p" }, percent(share.value)));
      return line;
    }));
    const say = found.shares ? percent : (v) => number(v, 5);
    $(el, ".range").textContent = top.low === null
      ? "One model answers, so there is nothing to compare it with."
      : `The models of the folds, each trained without some of the rows, say ${say(top.low)} to ${say(top.high)}.`;
    const changes = form.fields.map((field, i) => {
      if (person.values[i] === person.start[i]) return null;
      const line = make("li", {}, `${field.name}: `);
      line.append(make("del", {}, words(field, person.start[i])), " → ", make("ins", {}, words(field, person.values[i])));
      return line;
    }).filter(Boolean);
    if (changes.length && found.leaf !== person.base.leaf) {
      changes.push(make("li", {}, `the leaf: ${person.base.leaf} → ${found.leaf}`));
    }
    $(el, ".changes ul").replaceChildren(...(changes.length ? changes : [make("li", { class: "quiet" }, "nothing yet")]));
    $(el, ".path").replaceChildren(...found.path.map((step) => {
      const line = make("li", { "data-node": step.node }, step.rule);
      if (step.value !== null) line.append(make("span", { class: "here" }, ` (here: ${step.value})`));
      return line;
    }));
    $(el, ".parts tbody").replaceChildren(...found.parts.map((part) => {
      const line = make("tr");
      line.append(
        make("th", { scope: "row" }, part.learner),
        make("td", {}, part.trained_on === 0 ? "all rows" : `node ${part.trained_on}`),
        make("td", { class: "n" }, number(part.answer, 4)), make("td", { class: "n" }, percent(part.weight)),
      );
      return line;
    }));
    tree.light(person.name.toLowerCase(), found.path.map((step) => step.node));
  }

  /* The answer for the row that a person started from, asked once. */
  async function ground(person) {
    if (person.base) return;
    const { start } = person, found = await ask("answer", [start]);
    if (person.start === start) person.base = found.people[0];
  }

  let asked = 0, waiting = null;
  const shown = () => people.filter((person) => !person.el.hidden);
  function update() {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const turn = ++asked, who = shown();
      try {
        await Promise.all(who.map(ground));
        const found = await ask("answer", who.map((person) => person.values));
        if (turn !== asked) return;
        complain("");
        who.forEach((person, i) => draw(person, found.people[i]));
        document.documentElement.dataset.turn = turn;
      } catch (error) {
        if (turn === asked) complain(error.message);
      }
    }, 60);
  }

  const compare = document.getElementById("compare");
  addPerson("A");
  compare.addEventListener("change", () => {
    if (people.length < 2) {
      const second = addPerson("B");
      if (form.start.length === 1) { second.values = [...people[0].values]; second.shows.forEach((show) => show()); }
    }
    people[1].el.hidden = !compare.checked;
    document.getElementById("key-b").hidden = !compare.checked;
    document.getElementById("people").classList.toggle("two", compare.checked);
    if (!compare.checked) tree.light("b", []);
    update();
  });
  update();
})();
