// The keyboard's place is never lost. What had it may be moved, hidden, disabled or taken away when a part of the page
// is drawn again; then it gets it back, or what follows it does.

{
  const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";
  let last = null;
  let before = [];
  let awaited = false;

  const can = (one) => one.isConnected && !one.disabled && one.tabIndex >= 0 && one.checkVisibility({ visibilityProperty: true });
  const controls = () => [...(document.querySelector("dialog[open]") ?? document).querySelectorAll(CONTROLS)];

  // A browser takes it from what was hidden only after the next picture.
  const isLost = (one) => !one || one === document.body || one.disabled || !one.checkVisibility({ visibilityProperty: true });

  function hand() {
    awaited = false;
    if (!last || !document.hasFocus() || !isLost(document.activeElement)) return;
    const known = last;
    if (!can(known)) {
      // From what was there before it, if it is there no more.
      const from = known.isConnected ? known : before.findLast((one) => one.isConnected);
      const now = controls().filter(can);
      const follows = (one) => !from || from.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING;
      last = now.find(follows) ?? now.at(-1) ?? null;
    }
    last?.focus({ preventScroll: last === known });
  }

  document.addEventListener("focusin", (event) => {
    last = event.target;
    const all = controls();
    before = all.slice(0, Math.max(0, all.indexOf(last)));
  });
  // Whoever goes on with Tab, or presses where there is nothing to be focused, wants nothing to have it.
  const leave = () => { last = null; };
  document.addEventListener("keydown", (event) => { if (event.key === "Tab") leave(); }, true);
  document.addEventListener("pointerdown", leave, true);
  new MutationObserver(() => {
    if (awaited || !last) return;
    awaited = true;
    requestAnimationFrame(hand);
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["class", "disabled", "style", "hidden"] });
}
