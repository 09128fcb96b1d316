// What components share: numbers with units, and small lines.

const SIGNS = ["", "k", "M", "G", "T"];

export function count(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 10000) {
    let power = 0;
    while (value >= 1000 && power < SIGNS.length - 1) { value /= 1000; power += 1; }
    return `${digits(value)} ${SIGNS[power]}`;
  }
  return value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString("en-US") : digits(value);
}

export function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1).replace(/\.0$/, "");
  if (size >= 1) return value.toFixed(2).replace(/0$/, "").replace(/\.0$/, "");
  return value.toPrecision(2);
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return value === 0 ? "0 ms" : `${digits(value * 1e6)} µs`;
  if (value < 1) return `${digits(value * 1000)} ms`;
  if (value < 120) return `${digits(value)} s`;
  if (value < 7200) return `${digits(value / 60)} min`;
  return `${digits(value / 3600)} h`;
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1000) return `${Math.round(value)} B`;
  let power = 0;
  while (value >= 1000 && power < 4) { value /= 1000; power += 1; }
  return `${digits(value)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

export function share(value) {
  if (value === null || value === undefined) return "–";
  const percent = value * 100;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent > 0 && percent < 1 ? percent.toPrecision(1) : Math.round(percent)} %`;
}

export function rate(value) {
  if (value > 0 && value < 0.001) return "< 0.001/s";
  return value === null || value === undefined ? "–" : `${count(value)}/s`;
}

export function shown(wish, value) {
  switch (wish) {
    case "latency": return seconds(value);
    case "memory": return bytes(value);
    case "freshness": return share(value);
    case "throughput": return rate(value);
    default: return value === null ? "–" : String(value);
  }
}

// A line through points of time and value, in a box of `width` by `height`; gaps where nothing is known for long.
export function linePath(points, width, height, most, from, to) {
  const span = Math.max(to - from, 1e-9);
  let path = "";
  let open = false;
  for (const [at, value] of points) {
    if (at < from) continue;
    if (value === null || value === undefined) { continue; }
    const x = ((at - from) / span) * width;
    const y = height - (Math.min(value, most) / most) * height;
    path += `${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    open = true;
  }
  return path;
}

export const LEVELS = ["violated", "risk", "met", "spare", "unknown", "none"];
export const LEVEL_WORDS = {
  violated: "violated", risk: "at risk", met: "met", spare: "spare", unknown: "not measured", none: "no wish",
};

// Rates on a slider: equal steps are equal factors, from 1/s to 100 000/s, in numbers of two digits, of which
// each has its own position.
export const SLIDER_MOST = 100;

export function sliderRate(position) {
  const rough = 10 ** (position / 20);
  const power = 10 ** Math.floor(Math.log10(rough));
  return Math.round(rough / power * 10) * power / 10;
}

export function sliderPosition(perS) {
  return Math.min(SLIDER_MOST, Math.max(0, Math.round(20 * Math.log10(Math.max(perS ?? 1, 1)))));
}
