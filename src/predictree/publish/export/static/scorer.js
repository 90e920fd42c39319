// How a model that was exported as JSON answers: plain JavaScript, and nothing else.
// answer(model, row) is a number, or the probabilities of the classes in their order.
"use strict";

function answer(model, row) {
  const x = model.columns.map((column) => coded(column, row[column.name]));
  const total = new Array((model.classes || [0]).length).fill(0);
  for (const tree of model.trees) {
    for (const [weight, number] of leafOf(tree, x)) {
      const f = model.functions[number];
      const scores = scoresOf(model, f, x);
      f.outputs.forEach((output, j) => {
        total[output] += (weight * scores[j]) / model.trees.length;
      });
    }
  }
  if (model.classes !== null) return shares(total);
  return model.floor === null ? total[0] : Math.max(total[0], model.floor);
}

// The number that stands for a value; null if it is missing.
function coded(column, value) {
  if (value === null || value === undefined || Number.isNaN(value)) return null;
  if (column.kind === "number" || column.kind === "date") return Number(value);
  const place = column.levels.indexOf(value);
  return place >= 0 ? place : column.kind === "category" ? -1 : null;
}

function leafOf(tree, x) {
  let node = tree[0];
  while (!node.answers) {
    const value = x[node.column];
    if (value === null) node = tree[node.missing];
    else if ("level" in node) node = tree[value === node.level ? node.left : node.right];
    else node = tree[value < node.below ? node.left : node.right];
  }
  return node.answers;
}

function scoresOf(model, f, x) {
  let sums = f.constant;
  for (const place of f.terms) {
    const more = added(model.terms[place], x);
    sums = sums.map((sum, j) => sum + more[j]);
  }
  const [low, high] = (f.span || [null, null]);
  return links[f.link](sums).map((score) => {
    const above = low === null ? score : Math.max(score, low);
    return high === null ? above : Math.min(above, high);
  });
}

// What a term adds to the sums.
function added(term, x) {
  if (term.product) {
    const pairs = term.product.map(([a, b]) => [added(a, x)[0], added(b, x)]);
    return pairs[0][1].map((_, j) => pairs.reduce((sum, [a, b]) => sum + a * b[j], 0));
  }
  const value = x[term.column];
  if (value === null) return term.missing;
  if (term.slope) return term.slope.map((slope) => slope * (value - term.centre));
  if (term.levels) {
    const at = term.levels.indexOf(value);
    return at >= 0 ? term.values[at] : term.other;
  }
  const { knots, values } = term;
  const last = knots.length - 1;
  if (value <= knots[0] || last === 0) return values[0];
  if (value >= knots[last]) return values[last];
  let low = 0, high = last; // knots[low] <= value < knots[high]
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (knots[middle] <= value) low = middle;
    else high = middle;
  }
  const share = (value - knots[low]) / (knots[high] - knots[low]);
  return values[low].map((v, j) => v * (1 - share) + values[high][j] * share);
}

const odds = (f) => (f >= 0 ? 1 / (1 + Math.exp(-f)) : Math.exp(f) / (1 + Math.exp(f)));
const within = (f, most) => Math.min(Math.max(f, -most), most);
const divided = (s) => s.map((one) => one / s.reduce((a, b) => a + b, 0));
const shares = (s) => {
  const kept = s.map((one) => (one <= 1e-12 ? 0 : one));
  return divided(kept.some((one) => one > 0) ? kept : kept.map(() => 1));
};
const links = {
  identity: (s) => s,
  log: (s) => [Math.exp(within(s[0], 700))],
  logit: (s) => [1 - odds(within(s[0], 35)), odds(within(s[0], 35))],
  expit: (s) => [1 - odds(s[0]), odds(s[0])],
  softmax: (s) => divided(s.map((f) => Math.exp(f - Math.max(...s)))),
  complement: (s) => [1 - s[0], s[0]],
  shares,
  "complement shares": (s) => shares([1 - s[0], s[0]]),
  odds: (s) => divided(s.map(odds)),
};
if (typeof module !== "undefined") module.exports = { answer };
