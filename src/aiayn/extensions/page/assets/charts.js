// What each figure shows, as traces of plotly.js.
const symbols = { base: 'circle', A: 'square', B: 'diamond', C: 'triangle-up', D: 'triangle-down', E: 'star', big: 'hexagon', own: 'x' };
const dashes = ['solid', 'dash', 'dot', 'dashdot'];
const darkest = 0.7; // the share of ink in the last tone of a group's colour

function shownRows() {
  return data.rows.filter((row) => passes(row.group, `${row.id} ${row.label}`.toLowerCase()));
}

function signed(value, digits) {
  return value === null ? '' : `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}

function extent(values) {
  const most = Math.max(...values.map(Math.abs), 1e-9) * 1.08;
  return [Math.min(0, ...values) - 0.04 * most, Math.max(0, ...values) + 0.04 * most];
}

// Ours below, the paper's above; both axes have their zero at one place.
charts.differences = (element) => {
  const rows = shownRows().filter((row) => row.id !== 'base').reverse();
  const narrow = isNarrow(element);
  const traces = [];
  const more = { height: 150 + rows.length * 21 * (narrow ? 2 : 1), showlegend: false, annotations: [], margin: { l: 8, r: 12, t: 64, b: 8 } };
  [['ppl', 'log PPL', 3], ['bleu', 'BLEU', 2]].forEach(([metric, name, digits], place) => {
    const suffix = place ? String(2 * place + 1) : '';
    const above = String(2 * place + 2);
    const yName = place ? '2' : '';
    const measured = rows.filter((row) => row[metric].difference && row[metric].difference[0] !== null);
    const ours = extent(measured.flatMap((row) => row[metric].difference.filter((each) => each !== null)));
    const printed = extent(rows.map((row) => row[metric].paperDifference));
    const most = (range) => Math.max(-range[0], range[1]);
    const factor = data.sameScale || !measured.length ? 1 : most(printed) / most(ours);
    const range = [Math.min(ours[0], printed[0] / factor), Math.max(ours[1], printed[1] / factor)];
    const domain = narrow ? [0, 1] : [[0, 0.47], [0.53, 1]][place];
    more[`xaxis${suffix}`] = axis({ domain, range, nticks: 7, title: titled(`${name}, ours`), zeroline: true, zerolinecolor: colour('ink'), zerolinewidth: 1, anchor: `y${yName}` });
    const unit = Math.abs(Math.log(factor)) < 0.05 ? '' : `, axis ${factor > 1 ? 'compressed' : 'stretched'} ${(factor > 1 ? factor : 1 / factor).toFixed(1)} times`;
    more[`xaxis${above}`] = axis({
      domain, range: range.map((end) => end * factor), overlaying: `x${suffix}`, side: 'top', tickmode: 'auto', nticks: 7, title: titled(`${name}, paper ◇${unit}`, 4), showgrid: false, zeroline: false, anchor: `y${yName}`,
    });
    more[`yaxis${yName}`] = axis({
      categoryorder: 'array', categoryarray: rows.map((row) => row.id), showgrid: false, ticks: '', showline: false, tickfont: { color: colour('ink') },
      range: [-0.6, rows.length - 0.4], anchor: `x${suffix}`, showticklabels: narrow || !place, domain: narrow ? [[0.57, 1], [0, 0.43]][place] : [0, 1],
    });
    rows.forEach((row) => {
      const [estimate, low, high] = measured.includes(row) ? row[metric].difference : [null, null, null];
      const ink = colour(`g-${row.group}`);
      traces.push({
        x: [estimate], y: [row.id], xaxis: `x${suffix}`, yaxis: `y${yName}`, mode: 'markers', type: 'scatter', customdata: [row.anchor],
        marker: { color: ink, size: 8, symbol: symbols[row.group] },
        error_x: low === null ? undefined : { type: 'data', symmetric: false, array: [high - estimate], arrayminus: [estimate - low], color: ink, thickness: 1.6, width: 0 },
        hovertemplate: `<b>${row.id}</b> ${row.label}<br>ours ${signed(estimate, digits)}${low === null ? '' : ` [${signed(low, digits)}, ${signed(high, digits)}]`}<br>paper ${signed(row[metric].paperDifference, digits)}<extra></extra>`,
      });
    });
    traces.push({
      x: rows.map((row) => row[metric].paperDifference), y: rows.map((row) => row.id), xaxis: `x${above}`, yaxis: `y${yName}`, mode: 'markers', type: 'scatter',
      customdata: rows.map((row) => row.anchor), marker: { color: 'rgba(0,0,0,0)', line: { color: colour('ink'), width: 1.3 }, size: 9, symbol: 'diamond' },
      hovertemplate: '<b>%{y}</b><br>paper %{x:+.2f}<extra></extra>',
    });
  });
  return { traces, more, press: (at) => at.customdata };
};

// How curves are looked at: along steps or along each run's own budget; whole, or the part where they differ.
const budgets = data.runs.map((run) => run.steps).filter(Boolean);
const looks = { x: Math.max(...budgets) > 1.5 * Math.min(...budgets) ? 'share' : 'steps', y: 'end' };

function budget(run, steps) {
  return run.steps || steps.at(-1);
}

// The highest that any run is after half of its way: above it, runs come down and do not differ.
function highest(runs, metric) {
  const later = runs.flatMap((run) => {
    const [steps, values] = run.curves[metric];
    return values.filter((_, place) => steps[place] >= budget(run, steps) / 2);
  });
  return Math.max(...(later.length ? later : runs.flatMap((run) => run.curves[metric][1])));
}

// No two rows share colour and dash, whatever the filter shows: after each round of dashes, the colour of the group is
// nearer to the ink.
function lineOf({ row, group }) {
  const rows = [...new Set(data.runs.filter((run) => run.group === group).map((run) => run.row))];
  const tones = Math.ceil(rows.length / dashes.length);
  const tone = Math.floor(rows.indexOf(row) / dashes.length);
  const [own, ink] = [rgb(colour(`g-${group}`)), rgb(colour('ink'))];
  const share = tone && (darkest * tone) / (tones - 1);
  const mixed = own.map((band, place) => Math.round(band + (ink[place] - band) * share));
  return { color: `rgb(${mixed})`, dash: dashes[rows.indexOf(row) % dashes.length], width: group === 'base' ? 2.4 : 1.6 };
}

// One line a run; the legend has a line a row, whose seeds it takes together. It is beside the plot, or below it where
// the plot has no room to spare.
function curves(metric) {
  return (element) => {
    const narrow = isNarrow(element);
    const order = data.rows.map((row) => row.id);
    const runs = data.runs.filter((run) => run.curves[metric] && passes(run.group, run.title.toLowerCase()));
    const rows = [...new Set(runs.map((run) => run.row))];
    const isLog = ['val/ppl', 'train/loss'].includes(metric);
    const traces = runs.map((run, index) => {
      const [steps, y] = run.curves[metric];
      return {
        x: looks.x === 'steps' ? steps : steps.map((step) => step / budget(run, steps)), y, type: 'scatter', mode: y.length > 1 ? 'lines' : 'markers', name: run.row,
        legendgroup: run.row, showlegend: runs.findIndex((other) => other.row === run.row) === index, legendrank: order.indexOf(run.row) + 1 || 1000,
        line: lineOf(run), marker: { color: lineOf(run).color, size: 6 }, customdata: steps.map((step) => [run.anchor, step]),
        hovertemplate: `<b>${run.title}</b><br>step %{customdata[1]:,}<br>%{y:.4g}<extra></extra>`,
      };
    });
    const yaxis = axis({ title: titled(data.metrics[metric]), type: isLog ? 'log' : 'linear', nticks: 8, tickformat: '~g' });
    if (looks.y === 'end' && isLog && runs.length) {
      const lowest = Math.min(...runs.flatMap((run) => run.curves[metric][1]));
      yaxis.range = [Math.log10(lowest * 0.94), Math.log10(highest(runs, metric) * 1.06)];
    }
    const xaxis = looks.x === 'steps' ? { title: titled('optimizer step'), tickformat: ',d' } : { title: titled('share of the run’s steps'), tickformat: '.0%' };
    const more = {
      height: narrow ? 360 + 22 * Math.ceil(rows.length / Math.max(1, Math.floor(element.clientWidth / legendEntry))) : 520,
      showlegend: traces.length > 0, margin: { l: 8, r: 8, t: narrow ? 10 : 36, b: 8 },
      legend: legend(narrow ? { orientation: 'h', yref: 'container', yanchor: 'bottom', y: 0, entrywidth: legendEntry - 40 } : {}),
      xaxis: axis({ showgrid: false, rangemode: 'tozero', nticks: narrow ? 5 : 10, ...xaxis }), yaxis,
    };
    return { traces, more, press: (at) => at.customdata[0] };
  };
}

// Two panels, for sizes and perplexities of two worlds share no axis.
charts.parameters = (element) => {
  const narrow = isNarrow(element);
  const traces = [];
  const more = { height: narrow ? 640 : 430, showlegend: false, margin: { l: 8, r: 14, t: 30, b: 8 }, annotations: [] };
  const panels = [
    ['paper', (row) => row.paperParameters, (row) => row.ppl.paper],
    ['ours', (row) => row.parameters, (row) => row.ppl.ours],
  ];
  panels.forEach(([name, count, value], place) => {
    const suffix = place ? '2' : '';
    const rows = shownRows().filter((row) => count(row) !== null && value(row) !== null);
    const domain = narrow ? [[0.58, 1], [0, 0.42]][place] : [0, 1];
    const width = narrow ? [0, 1] : [[0, 0.46], [0.54, 1]][place];
    more[`xaxis${suffix}`] = axis({ domain: width, type: 'log', title: titled(`${name}: million parameters`), anchor: `y${suffix}`, showgrid: false, dtick: 'D2', tickformat: '~g' });
    more[`yaxis${suffix}`] = axis({ domain, title: titled('PPL', 4), anchor: `x${suffix}`, tickformat: '~g' });
    if (!rows.length) more.annotations.push({ text: 'no finished run yet', showarrow: false, xref: `x${suffix} domain`, yref: `y${suffix} domain`, x: 0.5, y: 0.5, font: { color: colour('soft') } });
    const labels = labelled(rows.map((row) => [Math.log(count(row)), value(row)]), rows.map((row) => row.id), element.clientWidth * (width[1] - width[0]), more.height * (domain[1] - domain[0]) - 60);
    traces.push({
      x: rows.map(count), y: rows.map(value), xaxis: `x${suffix}`, yaxis: `y${suffix}`, mode: 'markers+text', type: 'scatter', cliponaxis: false,
      text: rows.map((row, index) => (labels[index] ? row.id : '')), textposition: labels.map((label) => label ?? 'middle right'), textfont: { size: 10.5, color: colour('soft') },
      marker: { color: rows.map((row) => colour(`g-${row.group}`)), size: 9, symbol: rows.map((row) => symbols[row.group]), line: { width: 0 } },
      customdata: rows.map((row) => row.anchor), hovertext: rows.map((row) => `<b>${row.id}</b> ${row.label}`),
      hovertemplate: `%{hovertext}<br>${name}: %{x:.4g}M, PPL %{y:.4g}<extra></extra>`,
    });
  });
  return { traces, more, press: (at) => at.customdata };
};

// Where each point's name has room: not on a point, not on a name set before; null where it has none.
function labelled(points, names, width, height) {
  const scale = (side, size) => {
    const all = points.map((at) => at[side]);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    return (at) => ((at[side] - low) / (high - low || 1)) * size * 0.88;
  };
  const [atX, atY] = [scale(0, width), scale(1, height)];
  const taken = points.map((at) => [atX(at) - 5, atX(at) + 5, atY(at) - 5, atY(at) + 5]);
  const isFree = (box) => taken.every((other) => box[1] < other[0] || other[1] < box[0] || box[3] < other[2] || other[3] < box[2]);
  return points.map((at, index) => {
    const [x, y, long] = [atX(at), atY(at), 6.2 * names[index].length];
    const places = {
      'middle right': [x + 6, x + 9 + long, y - 6, y + 6], 'middle left': [x - 9 - long, x - 6, y - 6, y + 6],
      'top center': [x - long / 2, x + long / 2, y + 6, y + 18], 'bottom center': [x - long / 2, x + long / 2, y - 18, y - 6],
    };
    const found = Object.entries(places).find(([, box]) => isFree(box));
    if (found) taken.push(found[1]);
    return found?.[0] ?? null;
  });
}

function addSwitch(container, key, options) {
  const group = document.createElement('div');
  group.setAttribute('role', 'group');
  Object.entries(options).forEach(([value, text]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.setAttribute('aria-pressed', String(looks[key] === value));
    button.addEventListener('click', () => {
      looks[key] = value;
      [...group.children].forEach((other) => other.setAttribute('aria-pressed', String(other === button)));
      drawn.forEach((_, element) => element.dataset.pointing === 'curves' && draw(element));
    });
    group.append(button);
  });
  container.append(group);
}

const place = document.querySelector('[data-curves]');
Object.entries(data.metrics).forEach(([metric, title], index) => {
  const heading = document.createElement('h3');
  const figure = document.createElement('div');
  heading.textContent = title;
  figure.className = 'figure';
  figure.dataset.figure = metric;
  figure.dataset.pointing = 'curves';
  figure.setAttribute('role', 'img');
  figure.setAttribute('aria-label', `${title} of every run by optimizer step`);
  charts[metric] = curves(metric);
  place.append(heading, figure);
});
if (place.children.length) {
  const switches = document.createElement('div');
  switches.className = 'switches';
  addSwitch(switches, 'x', { share: 'by share of its steps', steps: 'by step' });
  addSwitch(switches, 'y', { end: 'where they differ', whole: 'from the start' });
  place.prepend(switches);
}
if (!place.children.length) place.textContent = 'Nothing has been logged yet.';
observe();
