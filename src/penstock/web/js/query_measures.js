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

// The measures of several queries as one line each: looks are of all queries at the same moments. What was put
// together at one look is kept for the next, as long as it is of the same queries.
export class LinesOfMany {
  #names = [];
  #lines = METRICS.map(() => []);
  #last = -Infinity;

  // One line for each of METRICS.
  take(names, pointsOf, at) {
    if (names.length !== this.#names.length || names.some((name, place) => name !== this.#names[place])) {
      this.#names = names;
      this.#lines = METRICS.map(() => []);
      this.#last = -Infinity;
    }
    const moments = new Map();
    for (const name of names) {
      const points = pointsOf(name);
      for (let place = points.length - 1; place >= 0 && points[place][0] > this.#last; place -= 1) {
        const point = points[place];
        if (!moments.has(point[0])) moments.set(point[0], METRICS.map(() => []));
        METRICS.forEach((metric, nth) => {
          if (point[metric.place] !== null) moments.get(point[0])[nth].push(point[metric.place]);
        });
      }
    }
    const came = [...moments].sort((a, b) => a[0] - b[0]);
    this.#last = came.at(-1)?.[0] ?? this.#last;
    this.#lines = this.#lines.map((line, nth) => line
      .concat(came.filter((one) => one[1][nth].length).map(([moment, values]) => [moment, METRICS[nth].of(values[nth])]))
      .filter((point) => point[0] >= at - SPAN_S));
    return this.#lines;
  }
}

// How several queries stand now.
export function summary(rows) {
  const of = (place) => known(rows.map((row) => row.now[place]));
  return { texts: METRICS.map((metric) => metric.many(of(metric.place))), rate: of(RATE).length ? sum(of(RATE)) : null };
}
