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
// Live pages: one stream, whose fragments replace elements by their ids.
(() => {
  const link = document.getElementById("link");
  if (!link || !link.dataset.stream) return;
  let source = null, frame = link.dataset.frame, ahead = -Infinity, ticking = 0, retry = 0, lost = 0;
  const hear = (t) => { ahead = Math.max(ahead, t - Date.now()); };
  const pad = (n) => String(n).padStart(2, "0");
  const clock = (ms) => {
    const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60);
    return h ? `${h}:${pad(m % 60)}:${pad(s % 60)}` : `${m}:${pad(s % 60)}`;
  };
  const tick = () => {
    for (const each of document.querySelectorAll("[data-end]")) {
      const left = Math.max(0, Math.min(each.dataset.most, each.dataset.end - Date.now() - ahead));
      const text = clock(left);
      if (each.textContent !== text) each.textContent = text;
      each.classList.toggle("low", left < 3000);
    }
  };
  // Only what differs is touched, so that focus, scroll, selection and hover stay where they are.
  const morph = (old, now) => {
    if (old.isEqualNode(now)) return;
    if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName) return old.replaceWith(now);
    if (old.nodeType !== 1) { old.nodeValue = now.nodeValue; return; }
    for (const name of old.getAttributeNames()) if (!now.hasAttribute(name)) old.removeAttribute(name);
    for (const name of now.getAttributeNames())
      if (old.getAttribute(name) !== now.getAttribute(name)) old.setAttribute(name, now.getAttribute(name));
    let at = old.firstChild;
    for (const child of [...now.childNodes]) {
      const same = child.id ? [...old.children].find((each) => each.id === child.id) : at && !at.id ? at : null;
      if (!same) { old.insertBefore(child, at); continue; }
      if (same === at) at = at.nextSibling; else old.insertBefore(same, at);
      morph(same, child);
    }
    while (at) { const next = at.nextSibling; at.remove(); at = next; }
  };
  const show = (data) => {
    const end = data.indexOf("\n");
    hear(Number(end < 0 ? data : data.slice(0, end)));
    const parsed = new DOMParser().parseFromString(end < 0 ? "" : data.slice(end + 1), "text/html");
    for (const now of [...parsed.body.children]) {
      const old = document.getElementById(now.id);
      if (old) morph(old, now);
    }
    tick();
  };
  const close = () => { if (source) source.close(); source = null; clearInterval(ticking); clearTimeout(retry); clearTimeout(lost); lost = 0; };
  const linked = () => { clearTimeout(lost); lost = 0; link.hidden = true; };
  const open = () => {
    close();
    ticking = setInterval(tick, 200);
    source = new EventSource(`${link.dataset.stream}&after=${encodeURIComponent(frame)}`);
    source.onopen = linked;
    source.onmessage = (event) => { linked(); frame = event.lastEventId || frame; show(event.data); };
    source.onerror = () => {
      lost = lost || setTimeout(() => { link.hidden = false; }, 1000);
      // A browser gives up where the server refuses; a refusal passes.
      if (source.readyState === EventSource.CLOSED) { clearTimeout(retry); retry = setTimeout(open, 5000); }
    };
  };
  const see = () => (document.hidden ? close() : open());
  hear(Number(link.dataset.now));
  addEventListener("visibilitychange", see);
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) see(); });
  see();
})();
