// A page that is being rewritten loads itself anew, unless somebody is at it or has stopped it. Where one was, what was
// filtered and what was open stay.
const seconds = Number(root.dataset.refresh);

function isBusy() {
  const at = document.activeElement;
  return document.hidden || at?.matches('input, select') || String(getSelection()) !== '';
}

function keep() {
  const open = [...document.querySelectorAll('details[open]')].map((details) => details.id || details.querySelector('summary').textContent);
  const sorted = [...document.querySelectorAll('table.sortable')].map((table) => {
    const heading = table.querySelector('th[aria-sort]:not([aria-sort="none"])');
    return heading ? [heading.cellIndex, heading.getAttribute('aria-sort')] : null;
  });
  remembered('kept', JSON.stringify({ open, sorted, top: scrollY }));
}

function restore() {
  const kept = JSON.parse(remembered('kept') ?? 'null');
  if (!kept) return;
  document.querySelectorAll('details').forEach((details) => {
    if (kept.open.includes(details.id || details.querySelector('summary').textContent)) details.open = true;
  });
  document.querySelectorAll('table.sortable').forEach((table, index) => {
    if (kept.sorted[index]) sort(table, ...kept.sorted[index]);
  });
  scrollTo(0, kept.top);
}

if (seconds) {
  const button = document.getElementById('live');
  let isOn = remembered('live') !== 'off';
  let touched = 0;
  const label = () => {
    button.textContent = isOn ? 'Live: pause' : 'Paused: go on';
    button.title = `Loads itself anew every ${seconds} seconds`;
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    isOn = !isOn;
    remembered('live', isOn ? 'on' : 'off');
    label();
  });
  label();
  restore();
  ['pointermove', 'keydown', 'scroll', 'touchstart'].forEach((name) => addEventListener(name, () => { touched = Date.now(); }, { passive: true }));
  setInterval(() => {
    if (!isOn || isBusy() || Date.now() - touched < 4000) return;
    keep();
    location.reload();
  }, seconds * 1000);
}
openTarget();
