// Sorting by a press on a heading, and one filter for tables, figures and runs.
const filterListeners = [];
const filter = { off: new Set(), text: '' };

function keyOf(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.v ?? cell.textContent.trim();
  return value === '' ? null : value;
}

function compare(a, b, isNumber) {
  return isNumber ? Number(a) - Number(b) : a.localeCompare(b, 'en', { numeric: true });
}

// Up, down, and then as the paper has them; what has no value is last either way.
function sort(table, column, direction) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.forEach((row, place) => { row.dataset.place ??= place; });
  const heading = table.tHead.rows[table.tHead.rows.length - 1].cells[column];
  const isNumber = heading.classList.contains('n');
  rows.sort((first, second) => {
    const a = keyOf(first, column);
    const b = keyOf(second, column);
    const asBefore = first.dataset.place - second.dataset.place;
    if (direction === 'none') return asBefore;
    if (a === null || b === null) return (a === null) - (b === null) || asBefore;
    return (direction === 'ascending' ? 1 : -1) * compare(a, b, isNumber) || asBefore;
  });
  body.append(...rows);
  [...heading.parentNode.cells].forEach((cell) => cell.hasAttribute('aria-sort') && cell.setAttribute('aria-sort', 'none'));
  heading.setAttribute('aria-sort', direction);
  mark(table);
}

// A rule between groups, wherever they have come to lie.
function mark(table) {
  const shown = [...table.tBodies[0].rows].filter((row) => !row.hidden);
  shown.forEach((row, place) => row.classList.toggle('first', place > 0 && row.dataset.group !== shown[place - 1].dataset.group));
}

document.querySelectorAll('table.sortable').forEach((table) => {
  mark(table);
  table.tHead.addEventListener('click', (event) => {
    const heading = event.target.closest('button')?.closest('th');
    if (!heading) return;
    const next = { none: 'ascending', ascending: 'descending', descending: 'none' };
    sort(table, heading.cellIndex, next[heading.getAttribute('aria-sort')]);
  });
});

function passes(group, text) {
  return !filter.off.has(group) && filter.text.split(/\s+/).every((word) => text.includes(word));
}

function applyFilter() {
  const filtered = document.querySelectorAll('[data-group]');
  filtered.forEach((element) => { element.hidden = !passes(element.dataset.group, element.dataset.text); });
  document.querySelectorAll('table[data-filtered]').forEach(mark);
  document.querySelectorAll('[data-chip]').forEach((button) => {
    button.setAttribute('aria-pressed', String(!filter.off.has(button.dataset.chip)));
  });
  const rows = [...document.querySelectorAll('.results tbody tr')];
  const shown = rows.filter((row) => !row.hidden).length;
  document.getElementById('matches').textContent = shown === rows.length ? '' : `${shown} of ${rows.length} rows`;
  filterListeners.forEach((listener) => listener());
  remembered('filter', JSON.stringify({ off: [...filter.off], text: filter.text }));
}

const groups = [...document.querySelectorAll('[data-chip]')].map((button) => button.dataset.chip);
document.querySelector('.chips').addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (!button) return;
  const group = button.dataset.chip;
  if (!group) {
    filter.off.clear();
  } else if (!filter.off.size && groups.length > 1) {
    // From all to one alone: what is asked for most, and base stays as what it is compared with.
    filter.off = new Set(groups.filter((other) => other !== group && other !== 'base'));
  } else if (!filter.off.delete(group)) {
    filter.off.add(group);
  }
  if (filter.off.size === groups.length) filter.off.clear();
  applyFilter();
});
document.getElementById('search').addEventListener('input', (event) => {
  filter.text = event.target.value.trim().toLowerCase();
  applyFilter();
});

document.getElementById('filter').hidden = false;
const earlier = JSON.parse(remembered('filter') ?? 'null');
if (earlier) {
  filter.off = new Set(earlier.off.filter((group) => groups.includes(group)));
  filter.text = earlier.text;
  document.getElementById('search').value = earlier.text;
  applyFilter();
}

// A link to a run opens it.
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.tagName !== 'DETAILS') return;
  target.hidden = false;
  target.open = true;
  target.scrollIntoView();
}
addEventListener('hashchange', openTarget);
document.addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link && link.hash === location.hash) openTarget();
});

// A frame that hides columns says so.
const frames = new ResizeObserver((entries) => entries.forEach(({ target }) => {
  target.classList.toggle('wide', target.scrollWidth > target.clientWidth);
}));
document.querySelectorAll('.scroller').forEach((frame) => frames.observe(frame));
