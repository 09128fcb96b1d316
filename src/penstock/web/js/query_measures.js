// What is measured of queries, of one and of many together. Points are [at, latency, memory, staleness, rows a second].

import { bytes, seconds, share } from "./index.js";
import { SPAN_S } from "./spark.js";

// Staleness and rates are means of so many points, since steps are jerky.
const TAIL = 8;

const sum = (values) => values.reduce((all, one) => all + one, 0);
const mean = (values) => (values.length ? sum(values) / values.length : null);
const known = (values) => values.filter((value) => value !== null && value !== undefined);

export const METRICS = [
  { key: "latency", place: 1, name: "latency", show: seconds, many: range(seconds), of: mean },
  { key: "memory", place: 2, name: "memory", show: bytes, many: (values) => bytes(sum(values)), of: sum },
  { key: "staleness", place: 3, name: "staleness", show: share, many: (values) => share(mean(values)), of: mean, most: 1 },
];
export const RATE = 4;

function range(show) {
  return (values) => {
    if (!values.length) return "–";
    const [least, most] = [show(Math.min(...values)), show(Math.max(...values))];
    if (least === most) return least;
    const [, value, unit] = /^(.*) (.*)$/.exec(least) ?? [];
    return most.endsWith(` ${unit}`) ? `${value}–${most}` : `${least} – ${most}`;
  };
}

// The points with those that came, without those that are too old.
export function added(points, more, at) {
  return (points ?? []).concat(more).filter((point) => point[0] >= at - SPAN_S);
}

// Of each measure the last that is known.
export function latest(points) {
  const tail = points.slice(-TAIL);
  const of = (place) => known(tail.map((point) => point[place]));
  return [tail.at(-1)?.[0], of(1).at(-1) ?? null, of(2).at(-1) ?? null, mean(of(3)), mean(of(RATE))];
}

// One measure of a query as a line.
export function line(points, metric) {
  return points.map((point) => [point[0], point[metric.place]]);
}

// One measure of several queries as one line: looks are of all queries at the same moments.
export function lineOfAll(all, metric) {
  const moments = new Map();
  for (const points of all)
    for (const point of points) {
      const value = point[metric.place];
      if (value === null) continue;
      const found = moments.get(point[0]);
      if (found) found.push(value);
      else moments.set(point[0], [value]);
    }
  return [...moments].sort((a, b) => a[0] - b[0]).map(([at, values]) => [at, metric.of(values)]);
}

// How several queries stand now.
export function summary(rows) {
  const of = (place) => known(rows.map((row) => row.now[place]));
  return { texts: METRICS.map((metric) => metric.many(of(metric.place))), rate: of(RATE).length ? sum(of(RATE)) : null };
}
