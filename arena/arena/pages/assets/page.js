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
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const keys = { ArrowLeft: () => go(here() - 1), ArrowRight: () => go(here() + 1), Home: () => go(0), End: () => go(last) };
    if (event.key === " " && event.target.tagName !== "A") keys[" "] = play;
    const act = keys[event.key];
    if (!act) return;
    if (event.key !== " ") stop();
    event.preventDefault();
    act();
  });
  // The address aims at a place before the board; the reader stays where he reads.
  addEventListener("hashchange", () => {
    const move = document.querySelector(".moves .m" + here());
    if (move) move.scrollIntoView({ block: "nearest" });
  });
})();
