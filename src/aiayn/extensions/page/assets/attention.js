// Attention maps: every head of a layer small, one of them large with its tokens. The weights are compressed, a byte each.
const svgNames = 'http://www.w3.org/2000/svg';
const kindNames = { encoder: 'encoder', decoder: 'decoder', cross: 'decoder to encoder' };

function svg(name, attributes, text) {
  const element = document.createElementNS(svgNames, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  if (text !== undefined) element.textContent = text;
  return element;
}

function matrix(view) {
  const { sentence, layer, head } = view;
  const kind = sentence.kinds[view.kind];
  const queries = view.kind === 'encoder' ? sentence.source : sentence.target;
  const keys = view.kind === 'decoder' ? sentence.read : sentence.source;
  const size = queries.length * keys.length;
  const start = (layer * kind.heads + head) * size;
  return { queries, keys, weights: kind.bytes.subarray(start, start + size), heads: kind.heads, layers: kind.layers };
}

function rgb(text) {
  return text.match(/[\d.]+/g).slice(0, 3).map(Number);
}

function small(canvas, { queries, keys, weights }, from, to) {
  canvas.width = keys.length;
  canvas.height = queries.length;
  const context = canvas.getContext('2d');
  const image = context.createImageData(keys.length, queries.length);
  weights.forEach((weight, cell) => {
    [0, 1, 2].forEach((band) => { image.data[4 * cell + band] = from[band] + (to[band] - from[band]) * (weight / 255); });
    image.data[4 * cell + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}

function large(view) {
  const { queries, keys, weights } = matrix(view);
  const cell = Math.max(15, Math.min(26, Math.floor(430 / Math.max(keys.length, queries.length))));
  const longest = (tokens) => 12 + 7.4 * Math.max(...tokens.map((token) => Math.min(token.length, 18)));
  const left = longest(queries);
  const top = longest(keys);
  const width = left + keys.length * cell + 4;
  const height = top + queries.length * cell + 4;
  const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Attention weights, ${kindNames[view.kind]}, layer ${view.layer + 1}, head ${view.head + 1}` });
  const columns = keys.map((token, x) => svg('text', { x: 0, y: 0, transform: `translate(${left + x * cell + cell / 2 + 4},${top - 5}) rotate(-90)` }, token.slice(0, 18)));
  const lines = queries.map((token, y) => svg('text', { x: left - 6, y: top + y * cell + cell / 2 + 4, 'text-anchor': 'end' }, token.slice(0, 18)));
  const ink = colour('accent');
  const cells = svg('g', {});
  weights.forEach((weight, place) => {
    if (weight < 2) return;
    const [x, y] = [place % keys.length, Math.floor(place / keys.length)];
    const box = svg('rect', { x: left + x * cell, y: top + y * cell, width: cell - 1, height: cell - 1, fill: ink, 'fill-opacity': (weight / 255).toFixed(3) });
    box.append(svg('title', {}, `${queries[y]} → ${keys[x]}: ${(weight / 255).toFixed(2)}`));
    cells.append(box);
  });
  const frame = svg('rect', { x: left - 0.5, y: top - 0.5, width: keys.length * cell, height: queries.length * cell, fill: 'none', stroke: colour('rule') });
  picture.append(frame, cells, ...columns, ...lines);
  picture.addEventListener('pointermove', (event) => {
    const box = picture.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left - left) / cell);
    const y = Math.floor((event.clientY - box.top - top) / cell);
    columns.forEach((text, place) => text.classList.toggle('on', place === x && y >= 0));
    lines.forEach((text, place) => text.classList.toggle('on', place === y && x >= 0));
  });
  return picture;
}

function choice(label, options, value, chosen) {
  const wrapper = document.createElement('label');
  const select = document.createElement('select');
  options.forEach((text, index) => select.add(new Option(text, index, false, index === value)));
  select.addEventListener('change', () => chosen(Number(select.value)));
  wrapper.append(`${label} `, select);
  return wrapper;
}

function show(element, view) {
  const { sentences } = view;
  const kinds = Object.keys(kindNames).filter((kind) => view.sentence.kinds[kind]);
  const { layers, heads } = view.sentence.kinds[view.kind];
  view.layer = Math.min(view.layer, layers - 1);
  view.head = Math.min(view.head, heads - 1);
  const again = (change) => { Object.assign(view, change); show(element, view); };
  const choices = document.createElement('div');
  choices.className = 'choices';
  if (sentences.length > 1) {
    choices.append(choice('sentence', sentences.map((each) => each.source.join(' ')), sentences.indexOf(view.sentence), (index) => again({ sentence: sentences[index] })));
  }
  choices.append(choice('attention', kinds.map((kind) => kindNames[kind]), kinds.indexOf(view.kind), (index) => again({ kind: kinds[index] })));
  choices.append(choice('layer', Array.from({ length: layers }, (_, index) => `${index + 1} of ${layers}`), view.layer, (layer) => again({ layer })));
  const maps = document.createElement('div');
  maps.className = 'maps';
  const frame = document.createElement('div');
  frame.className = 'large';
  frame.tabIndex = 0;
  frame.append(large(view));
  const thumbnails = document.createElement('div');
  thumbnails.className = 'heads';
  const [from, to] = [rgb(colour('paper')), rgb(colour('accent'))];
  for (let head = 0; head < heads; head += 1) {
    const button = document.createElement('button');
    const canvas = document.createElement('canvas');
    button.type = 'button';
    button.setAttribute('aria-pressed', String(head === view.head));
    button.append(canvas, `head ${head + 1}`);
    button.addEventListener('click', () => { again({ head }); element.querySelectorAll('.heads button')[head].focus(); });
    small(canvas, matrix({ ...view, head }), from, to);
    thumbnails.append(button);
  }
  maps.append(frame, thumbnails);
  element.replaceChildren(choices, maps);
}

const views = new Map();
document.querySelectorAll('[data-attention]').forEach((element) => {
  element.closest('details').addEventListener('toggle', async (event) => {
    if (!event.target.open || views.has(element)) return;
    const { sentences } = JSON.parse(document.getElementById(element.dataset.attention).textContent);
    if (!sentences.length) return;
    // The decoder's last look at the source says most at a glance.
    const view = { sentences, sentence: sentences[0], kind: 'cross', layer: Infinity, head: 0 };
    views.set(element, view);
    const kinds = sentences.flatMap((sentence) => Object.values(sentence.kinds));
    await Promise.all(kinds.map(async (kind) => { kind.bytes = await inflated(kind.packed); }));
    show(element, view);
  });
});
listeners.push(() => views.forEach((view, element) => element.children.length && show(element, view)));
