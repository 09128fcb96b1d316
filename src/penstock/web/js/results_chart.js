// The chart that fits rows of results: lines or points over a time, or bars. Which one it is the server has decided.

import { count, digits } from "./index.js";

const HEIGHT = 240;
const MARGIN = { left: 62, right: 14, top: 12, bottom: 26 };
const MOST_BARS = 20;
const COLOURS = 6;
const DASHES = ["none", "6 3", "2 3"];
const STEPS_S = [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 604800, 2592000];

// Seconds since 1970 of a time as the API writes it; one without a zone is UTC.
export function secondsOf(value) {
  if (typeof value !== "string") return null;
  const zoned = /Z$|[+-]\d\d:?\d\d$/.test(value) || !value.includes("T") ? value : `${value}Z`;
  const found = Date.parse(zoned);
  return Number.isNaN(found) ? null : found / 1000;
}

export function numberOf(value) {
  const found = typeof value === "string" ? Number(value) : value;
  return typeof found === "number" && Number.isFinite(found) ? found : null;
}

export function numberText(value) {
  if (value === null) return "–";
  const size = Math.abs(value);
  if (size >= 10000) return value < 0 ? `−${count(-value)}` : count(value);
  if (Number.isInteger(value)) return String(value);
  return size < 1e-4 ? value.toExponential(1) : digits(value);
}

export function timeText(at, span) {
  const text = new Date(at * 1000).toISOString();
  if (span > 3 * 86400) return text.slice(0, 10);
  if (span > 86400) return `${text.slice(5, 10)} ${text.slice(11, 16)}`;
  if (span > 600) return text.slice(11, 16);
  return span > 5 ? text.slice(11, 19) : text.slice(11, 23);
}

// Round values around a range; zero belongs to it where it is not far away.
export function levelsOf(least, most, wanted = 4) {
  let [low, high] = [least, most];
  if (low > 0 && low < 0.6 * high) low = 0;
  if (high < 0 && high > 0.6 * low) high = 0;
  if (low === high) [low, high] = [low - Math.max(1, Math.abs(low) * 0.1), high + Math.max(1, Math.abs(high) * 0.1)];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let place = Math.floor(low / step + 1e-9); place <= Math.ceil(high / step - 1e-9); place += 1) found.push(place * step);
  return found;
}

export const ResultsChart = {
  template: `
    <figure class="time-chart results-chart" aria-label="Chart of the results">
      <figcaption><h3>{{ title }}</h3>
        <label v-if="fit.choices.length > 1" class="line small"><span class="muted">show</span>
          <select class="input" v-model="chosen" aria-label="What the chart shows">
            <option v-for="(one, place) in fit.choices" :value="place">{{ one.join(", ") }}</option></select></label>
        <span class="moment muted small">{{ moment }}</span></figcaption>
      <p class="hidden-to-eyes">{{ summary }}</p>
      <template v-if="fit.kind === 'bars'">
        <div class="bars"><template v-for="bar in bars" :key="bar.name">
          <span class="name" :title="bar.name">{{ bar.name }}</span>
          <span class="track"><span :style="{ width: bar.width + '%' }"></span></span>
          <span class="number">{{ bar.text }}</span></template></div>
        <p v-if="leftOut" class="muted small">and {{ leftOut }} more</p>
      </template>
      <template v-else>
        <div class="keys" v-if="series.length > 1 || cursor !== null"><span v-for="line in series" :key="line.name" class="key">
          <svg width="22" height="8" aria-hidden="true"><circle v-if="fit.kind === 'points'" cx="11" cy="4" r="3" :class="line.colour" />
            <line v-else x1="0" y1="4" x2="22" y2="4" :class="line.colour" :stroke-dasharray="line.dash" /></svg>
          <span>{{ line.name }}</span><span class="value">{{ at(line) }}</span></span></div>
        <div ref="plot" class="plot" tabindex="0" role="slider" aria-label="Moment in the chart of the results" aria-valuemin="0"
          :aria-valuemax="(heard ?? spoken).most" :aria-valuenow="(heard ?? spoken).now" :aria-valuetext="(heard ?? spoken).text" @pointermove="follow"
          @pointerdown="follow" @pointerleave="cursor = null" @focus="speak" @blur="cursor = heard = null" @keydown="press">
          <svg :width="width" :height="height" :viewBox="'0 0 ' + width + ' ' + height" aria-hidden="true">
            <g v-for="tick in ticks" :key="'y' + tick.text"><line class="grid" :x1="left" :x2="right" :y1="tick.y" :y2="tick.y" />
              <text :x="left - 8" :y="tick.y + 4" text-anchor="end">{{ tick.text }}</text></g>
            <g v-for="tick in times" :key="'x' + tick.x"><line class="tick" :x1="tick.x" :x2="tick.x" :y1="bottom" :y2="bottom + 4" />
              <text :x="tick.x" :y="bottom + 17" :text-anchor="tick.anchor">{{ tick.text }}</text></g>
            <template v-for="line in series" :key="line.name">
              <path v-if="fit.kind === 'lines'" class="line" :class="line.colour" :d="line.path" :stroke-dasharray="line.dash" />
              <circle v-for="(dot, place) in line.dots" :key="place" :class="line.colour" :cx="dot[0]" :cy="dot[1]"
                :r="fit.kind === 'points' ? 3 : 2.2" />
            </template>
            <g v-if="cursor !== null" class="cursor"><line :x1="x(moments[cursor])" :x2="x(moments[cursor])" :y1="top" :y2="bottom" /></g>
          </svg></div>
      </template>
    </figure>`,
  props: { columns: Array, rows: Array, fit: Object },
  data() { return { chosen: 0, width: 640, height: HEIGHT, cursor: null, heard: null, left: MARGIN.left, top: MARGIN.top, bottom: HEIGHT - MARGIN.bottom }; },
  mounted() {
    this.observer = new ResizeObserver(([seen]) => { if (seen.contentRect.width > 0) this.width = seen.contentRect.width; });
    if (this.$refs.plot) this.observer.observe(this.$refs.plot);
  },
  unmounted() { this.observer.disconnect(); },
  computed: {
    names() { return this.fit.choices[Math.min(this.chosen, this.fit.choices.length - 1)]; },
    right() { return this.width - MARGIN.right; },
    title() {
      const by = this.fit.group ? ` by ${this.fit.group}` : "";
      if (this.fit.kind === "bars") return `${this.names[0]} by ${this.fit.along}`;
      return `${this.names.join(", ")}${by} over ${this.fit.along}`;
    },
    places() { return Object.fromEntries(this.columns.map((one, place) => [one.name, place])); },
    // Name, and points of time and value in the order of time.
    groups() {
      const found = new Map();
      const along = this.places[this.fit.along];
      const group = this.fit.group === null ? null : this.places[this.fit.group];
      for (const row of this.rows) {
        const at = secondsOf(row[along]);
        if (at === null) continue;
        for (const name of this.names) {
          const key = group === null ? name : String(row[group] ?? "NULL");
          const value = numberOf(row[this.places[name]]);
          if (value === null) continue;
          if (!found.has(key)) found.set(key, []);
          found.get(key).push([at, value]);
        }
      }
      const all = [...found].map(([name, points]) => ({ name, points: points.sort((a, b) => a[0] - b[0]) }));
      return all.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    },
    range() {
      const times = this.groups.flatMap((one) => [one.points[0][0], one.points.at(-1)[0]]);
      const values = this.groups.flatMap((one) => one.points.map((point) => point[1]));
      if (!times.length) return { from: 0, to: 1, least: 0, most: 1 };
      const [from, to] = [Math.min(...times), Math.max(...times)];
      return { from, to: to > from ? to : from + 1, least: Math.min(...values), most: Math.max(...values) };
    },
    levels() { return levelsOf(this.range.least, this.range.most); },
    ticks() { return this.levels.map((value) => ({ y: this.y(value), text: numberText(Number(value.toPrecision(12))) })); },
    times() {
      const { from, to } = this.range;
      const wanted = Math.max(2, Math.floor((this.right - this.left) / 80));
      const step = STEPS_S.find((one) => (to - from) / one <= wanted) ?? STEPS_S.at(-1);
      const found = [];
      for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(this.tick(at, to - from));
      return found;
    },
    series() {
      return this.groups.map((one, place) => {
        const spots = one.points.map(([at, value]) => [this.x(at), this.y(value)]);
        const few = this.fit.kind === "points" || spots.length <= 40;
        return {
          name: one.name, points: one.points, colour: `series-${1 + (place % COLOURS)}`,
          dash: DASHES[Math.floor(place / COLOURS) % DASHES.length],
          path: spots.length > 1 ? `M${spots.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` : "",
          dots: few ? spots : [],
        };
      });
    },
    moments() { return [...new Set(this.groups.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b); },
    moment() {
      if (this.cursor === null || this.fit.kind === "bars") return "";
      const at = new Date(this.moments[this.cursor] * 1000).toISOString();
      return at.slice(0, 19).replace("T", " ");
    },
    spoken() {
      const values = this.series.map((line) => `${line.name} ${this.at(line)}`);
      const most = Math.max(0, this.moments.length - 1);
      return { now: this.cursor ?? most, most, text: `${this.moment || "the last"}: ${values.join(", ")}` };
    },
    all() {
      const [along, value] = [this.places[this.fit.along], this.places[this.names[0]]];
      const last = new Map();
      for (const row of this.rows) last.set(String(row[along] ?? "NULL"), numberOf(row[value]) ?? 0);
      return [...last].sort((a, b) => b[1] - a[1]);
    },
    bars() {
      const most = Math.max(...this.all.map((one) => Math.abs(one[1])), 1e-9);
      return this.all.slice(0, MOST_BARS)
        .map(([name, value]) => ({ name, text: numberText(value), width: (100 * Math.abs(value)) / most }));
    },
    leftOut() { return Math.max(0, this.all.length - MOST_BARS); },
    summary() {
      if (this.fit.kind === "bars") return `${this.title}, the last value of each: ${this.bars.map((bar) => `${bar.name} ${bar.text}`).join(", ")}.`;
      const parts = this.groups.map(({ name, points }) => {
        const values = points.map((point) => point[1]);
        return `${name}: last ${numberText(values.at(-1))}, least ${numberText(Math.min(...values))}, most ${numberText(Math.max(...values))}`;
      });
      return `${this.title}, the last ${this.rows.length} rows. ${parts.join("; ")}.`;
    },
  },
  methods: {
    x(at) { return this.left + ((at - this.range.from) / (this.range.to - this.range.from)) * (this.right - this.left); },
    y(value) {
      const [low, high] = [this.levels[0], this.levels.at(-1)];
      return this.bottom - ((value - low) / (high - low)) * (this.bottom - this.top);
    },
    // A text at the end would not have room on both its sides.
    tick(at, span) {
      const [x, text] = [this.x(at), timeText(at, span)];
      return { x, text, anchor: x + 4 * text.length > this.width ? "end" : "middle" };
    },
    // The value of a line at the cursor, or the last one.
    at(line) {
      const until = this.cursor === null ? Infinity : this.moments[this.cursor];
      const known = line.points.filter((point) => point[0] <= until);
      return known.length ? numberText(known.at(-1)[1]) : "–";
    },
    follow(event) {
      if (!this.moments.length) return;
      const place = event.clientX - this.$refs.plot.getBoundingClientRect().left;
      const at = this.range.from + ((place - this.left) / (this.right - this.left)) * (this.range.to - this.range.from);
      let best = 0;
      this.moments.forEach((one, nth) => { if (Math.abs(one - at) < Math.abs(this.moments[best] - at)) best = nth; });
      this.cursor = best;
    },
    // As in charts over time: what is said changes with keys only where the keyboard is.
    speak() { this.heard = this.spoken; },
    press(event) {
      const last = this.moments.length - 1;
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (last < 0) return;
      if (event.key === "Escape") this.cursor = null;
      else if (event.key === "Home") this.cursor = 0;
      else if (event.key === "End") this.cursor = last;
      else if (step) this.cursor = Math.min(last, Math.max(0, (this.cursor ?? last) + step));
      else return;
      this.speak();
      event.preventDefault();
    },
  },
  watch: {
    rows() { if (this.cursor !== null) this.cursor = Math.min(this.cursor, this.moments.length - 1); },
  },
};
