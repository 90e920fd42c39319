/* The report: details of one node at a time, links that choose it, and the path of a row. */
(() => {
  const tree = predictreeTree(document.querySelector(".tree"));
  const details = [...document.querySelectorAll(".detail")];
  tree.onSelect((id) => details.forEach((el) => { el.hidden = el.dataset.node !== id; }));

  document.querySelectorAll("a[href^='#node-']:not(.node)").forEach((link) => {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      tree.select(link.getAttribute("href").slice("#node-".length));
      document.getElementById("tree").scrollIntoView();
    });
  });
  const asked = /^#node-(\d+)$/.exec(location.hash);
  tree.select(asked && document.getElementById(location.hash.slice(1)) ? asked[1] : "0");

  const pick = document.getElementById("pick");
  if (pick) pick.addEventListener("change", () => {
    const path = pick.value.split(" ").filter(Boolean);
    tree.light("a", path);
    if (path.length) tree.select(path[path.length - 1]);
  });
})();
