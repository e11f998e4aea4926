// plotly.js is inflated once, when the first figure comes into view or the browser has nothing to do; figures are drawn
// when they are seen.
const data = JSON.parse(document.getElementById('data').textContent);
const charts = {};
const drawn = new Map();
let plotly = null;

// Bytes from the base64 of their gzip.
async function inflated(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function inflate() {
  const script = document.createElement('script');
  script.textContent = new TextDecoder().decode(await inflated(document.getElementById('plotly').textContent));
  document.head.append(script);
  if (!window.Plotly) throw new Error('plotly.js did not start');
  return window.Plotly;
}

function loaded() {
  plotly ??= inflate();
  return plotly;
}

const isTouched = matchMedia('(pointer: coarse)').matches;
const config = {
  displaylogo: false,
  responsive: true,
  displayModeBar: isTouched ? false : 'hover',
  modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d', 'zoomIn2d', 'zoomOut2d'],
};

// What all figures share: no frame, thin lines, the page's letters.
function axis(more = {}) {
  const rule = colour('rule');
  return {
    gridcolor: rule, zerolinecolor: rule, linecolor: colour('soft'), tickcolor: colour('soft'), ticks: 'outside', ticklen: 3,
    showline: true, tickfont: { color: colour('soft') }, title: { font: { color: colour('soft') } }, automargin: true, ...more,
  };
}

function titled(text, standoff = 8) {
  return { text, font: { color: colour('soft'), size: 12 }, standoff };
}

function layout(more = {}) {
  return {
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', dragmode: isTouched ? false : 'zoom', hovermode: 'closest',
    font: { family: getComputedStyle(root).getPropertyValue('--sans'), size: 12, color: colour('ink') },
    margin: { l: 8, r: 8, t: 28, b: 8, pad: 0 },
    hoverlabel: { bgcolor: colour('paper'), bordercolor: colour('rule'), font: { color: colour('ink') }, align: 'left' },
    ...more,
  };
}

const legendEntry = 116; // px of an entry of a legend below its plot

function legend(more) {
  return { font: { size: 11, color: colour('ink') }, tracegroupgap: 0, itemwidth: 30, bgcolor: 'rgba(0,0,0,0)', ...more };
}

function isNarrow(element) {
  return element.clientWidth < 560;
}

async function draw(element) {
  const Plotly = await loaded();
  const { traces, more, press } = charts[element.dataset.figure](element);
  element.style.minHeight = `${more.height}px`;
  const isNew = !drawn.has(element);
  drawn.set(element, true);
  element.dataset.points = traces.reduce((sum, trace) => sum + trace.x.length, 0);
  await Plotly.react(element, traces, layout(more), config);
  if (!isNew) return;
  element.on('plotly_hover', ({ points }) => point(element, points[0].data.legendgroup));
  element.addEventListener('mouseover', ({ target }) => {
    const entry = target.closest('.legend .traces');
    if (entry) point(element, entry.__data__?.[0]?.trace?.legendgroup ?? null);
    else if (element.matches('.pointed') && target.closest('.legend')) point(element, null);
  });
  element.on('plotly_unhover', () => point(element, null));
  element.on('plotly_click', ({ points }) => {
    const anchor = press?.(points[0]);
    if (anchor) location.hash = anchor;
  });
}

// The curves of the row under the pointer, on a curve or in the legend, stand out; the others step back.
function point(element, row) {
  if (element.dataset.pointing !== 'curves') return;
  element.classList.toggle('pointed', row !== null);
  element.querySelectorAll('.scatterlayer .trace').forEach((trace) => {
    trace.classList.toggle('pointed', row !== null && trace.__data__?.[0]?.trace?.legendgroup === row);
  });
}

function redraw() {
  drawn.forEach((_, element) => draw(element));
}

listeners.push(redraw);
filterListeners.push(redraw);

function observe() {
  const observer = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      observer.unobserve(entry.target);
      draw(entry.target);
    });
  }, { rootMargin: '300px' });
  document.querySelectorAll('.figure').forEach((element) => observer.observe(element));
  // Paper shows figures that nobody has scrolled to.
  addEventListener('beforeprint', () => document.querySelectorAll('.figure').forEach((element) => draw(element)));
  (window.requestIdleCallback ?? setTimeout)(() => loaded());
}
