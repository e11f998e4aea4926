// Light, dark, or as the system has it; figures ask for the colours that hold.
const root = document.documentElement;
const listeners = [];

function remembered(key, value) {
  try {
    if (value === undefined) return sessionStorage.getItem(key);
    sessionStorage.setItem(key, value);
  } catch (error) {
    // A browser that keeps nothing for files still shows them.
  }
  return null;
}

function isDark() {
  const chosen = root.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

const probe = document.createElement('span');
probe.hidden = true;
document.body.append(probe);

function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

function setTheme(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  const button = document.getElementById('theme');
  button.textContent = isDark() ? 'Light' : 'Dark';
  button.setAttribute('aria-label', isDark() ? 'Light colours' : 'Dark colours');
  listeners.forEach((listener) => listener());
}

document.getElementById('theme').hidden = false;
document.getElementById('theme').addEventListener('click', () => {
  setTheme(isDark() ? 'light' : 'dark');
  remembered('theme', root.dataset.theme);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(root.dataset.theme));
setTheme(remembered('theme'));

// Paper is white, and what is folded up cannot be unfolded there.
let beforePrint = null;
addEventListener('beforeprint', () => {
  const closed = [...document.querySelectorAll('.claim:not([open]), .conditions:not([open])')];
  beforePrint = { theme: root.dataset.theme, closed };
  closed.forEach((details) => { details.open = true; });
  setTheme('light');
});
addEventListener('afterprint', () => {
  if (!beforePrint) return;
  beforePrint.closed.forEach((details) => { details.open = false; });
  setTheme(beforePrint.theme);
  beforePrint = null;
});
