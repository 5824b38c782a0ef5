// Keys of a replay; all of it works without this script, by the links of the page.
"use strict";
(() => {
  const plies = document.querySelectorAll("i.ply");
  if (!plies.length) return;
  const last = plies.length - 1;
  const here = () => {
    const found = /^#p(\d+)$/.exec(location.hash);
    return found ? Math.min(Number(found[1]), last) : last;
  };
  const go = (ply) => {
    const to = Math.max(0, Math.min(last, ply));
    if (to !== here()) location.replace("#p" + to);
  };
  let playing = 0;
  const stop = () => { clearInterval(playing); playing = 0; };
  const play = () => {
    if (playing) return stop();
    if (here() === last) go(0);
    playing = setInterval(() => (here() === last ? stop() : go(here() + 1)), 700);
  };
  const marked = [...document.querySelectorAll(".moves .marked")].map((cell) => Number(/m(\d+)/.exec(cell.className)[1]));
  const mark = (beyond) => { if (beyond.length) go(beyond[0]); };
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const keys = {
      ArrowLeft: () => go(here() - 1), ArrowRight: () => go(here() + 1), Home: () => go(0), End: () => go(last),
      b: () => mark(marked.filter((ply) => ply > here())), B: () => mark(marked.filter((ply) => ply < here()).reverse()),
    };
    if (event.key === " " && event.target.tagName !== "A") keys[" "] = play;
    const act = keys[event.key];
    if (!act) return;
    if (event.key !== " ") stop();
    event.preventDefault();
    act();
  });
  // The address aims at a place before the board; the reader stays where he reads.
  // A link of the steps is hidden by its own ply: the same one of the new ply has the focus then.
  let pressed = -1;
  addEventListener("click", (event) => {
    const step = event.target.closest && event.target.closest(".steps > div");
    pressed = step ? [...step.children].indexOf(event.target.closest("a")) : -1;
  });
  addEventListener("hashchange", () => {
    const now = pressed < 0 ? null : document.querySelector(".steps .s" + here());
    const link = now && (now.children[pressed].href ? now.children[pressed] : now.querySelector("a"));
    if (link) link.focus({ preventScroll: true });
    pressed = -1;
    const move = document.querySelector(".moves .m" + here());
    if (move) move.scrollIntoView({ block: "nearest" });
  });
})();
