// Lines over the last minutes: axes with units, a legend with values, marks of moments, a limit, and the values
// of any moment under the pointer or, with the arrow keys, under the cursor.

import { bytes, count, digits, rate, seconds, share } from "penstock-ui";

const HEIGHT = 190;
const MARGIN = { left: 58, right: 12, top: 10, bottom: 24 };
const LANE = 15;
// Known values this far apart are not joined, unless they always are: what was between them nobody knows.
const GAP_S = 12;
const USUAL = 2.5;
const COLOURS = 6;
const DASHES = ["none", "6 3", "2 3"];
// A limit further up than this many times what is measured would press the line flat: it is told at the edge.
const FAR = 3;

export const UNITS = {
  latency: { show: seconds, steps: [1, 2, 5] },
  memory: { show: bytes, steps: [1, 2, 5] },
  share: { show: share, steps: [1, 2.5, 5], most: 1 },
  rate: { show: rate, steps: [1, 2, 5] },
};

// Round values from zero up that are not more than about `wanted`, the last one at or above `most`.
export function ticksUpTo(most, steps, wanted = 4) {
  if (!(most > 0)) return [0, 1];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [...steps, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let place = 0; place === 0 || found[place - 1] < most * 0.999; place += 1) found.push(place * step);
  return found;
}

// How far apart points may be that are joined: more than is usual of them.
export function gapOf(points) {
  const times = points.filter((point) => point[1] !== null && point[1] !== undefined).map((point) => point[0]);
  const apart = times.slice(1).map((at, place) => at - times[place]).sort((a, b) => a - b);
  return apart.length < 2 ? GAP_S : Math.max(GAP_S, USUAL * apart[Math.floor(apart.length / 2)]);
}

// Runs of points that are joined; a run may be one point.
export function runsOf(points, gap) {
  const runs = [];
  let last = null;
  for (const point of points) {
    if (point[1] === null || point[1] === undefined) continue;
    if (last === null || point[0] - last[0] > gap) runs.push([]);
    runs.at(-1).push(point);
    last = point;
  }
  return runs;
}

// What is known of a moment: the last value that is not too old.
export function valueAt(points, at, gap) {
  for (let place = points.length - 1; place >= 0; place -= 1) {
    const [then, value] = points[place];
    if (then > at + 0.001) continue;
    if (at - then > gap) return null;
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

function ago(passed) {
  if (passed < 1) return "now";
  return passed < 120 ? `${Math.round(passed)} s ago` : `${digits(passed / 60)} min ago`;
}

export default {
  template: `
    <figure class="time-chart" :aria-label="title">
      <figcaption><component :is="heading">{{ title }}</component>
        <span class="moment muted small">{{ cursor === null ? "" : moment }}</span></figcaption>
      <p class="hidden-to-eyes">{{ summary }}</p>
      <div class="keys">
        <component v-for="line in lines" :key="line.name" class="key" :is="lines.length > 1 ? 'button' : 'span'"
          v-bind="lines.length > 1 ? { type: 'button', title: line.hidden ? 'show' : 'hide', 'aria-pressed': String(!line.hidden) } : {}"
          @click="toggle(line.name)">
          <svg width="22" height="8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4" :class="line.colour"
            :stroke-dasharray="line.dash" /></svg>
          <span>{{ line.name }}</span><span class="value">{{ show(line.value) }}</span></component>
        <span v-if="limit !== null" class="key"><svg width="22" height="8" aria-hidden="true">
          <line x1="0" y1="4" x2="22" y2="4" class="limit" /></svg>
          <span>asked for</span><span class="value">{{ show(limit) }}</span></span>
      </div>
      <div ref="plot" class="plot" tabindex="0" role="slider" :aria-label="'Moment in ' + title" aria-valuemin="0"
        :aria-valuemax="Math.round(span)" :aria-valuenow="(heard ?? spoken).now" :aria-valuetext="(heard ?? spoken).text"
        @pointermove="follow" @pointerdown="follow" @pointerleave="leave" @focus="speak" @blur="leave" @keydown="press">
        <svg :width="width" :height="height" :viewBox="'0 0 ' + width + ' ' + height" aria-hidden="true">
          <g v-for="tick in ticks" :key="'y' + tick.value">
            <line class="grid" :x1="box.left" :x2="box.right" :y1="tick.y" :y2="tick.y" />
            <text :x="box.left - 8" :y="tick.y + 4" text-anchor="end">{{ tick.text }}</text></g>
          <g v-for="tick in times" :key="'x' + tick.text">
            <line class="tick" :x1="tick.x" :x2="tick.x" :y1="box.bottom" :y2="box.bottom + 4" />
            <text :x="tick.x" :y="box.bottom + 17" :text-anchor="tick.anchor">{{ tick.text }}</text></g>
          <g v-for="mark in marked" :key="mark.at + mark.text" class="mark">
            <title>{{ mark.text }}</title>
            <line :x1="mark.x" :x2="mark.x" :y1="mark.y" :y2="box.bottom" />
            <text v-if="mark.label" :x="mark.x + (mark.anchor === 'end' ? -4 : 4)" :y="mark.y + 9"
              :text-anchor="mark.anchor">{{ mark.label }}</text></g>
          <g v-if="limit !== null" class="limit"><line :x1="box.left" :x2="box.right" :y1="limitLine.y" :y2="limitLine.y" />
            <text v-if="limitLine.text" :x="box.right - 2" :y="limitLine.y + 13" text-anchor="end">{{ limitLine.text }}</text></g>
          <template v-for="line in lines" :key="line.name"><template v-if="!line.hidden">
            <path v-if="lines.length === 1" class="under" :class="line.colour" :d="line.under" />
            <path class="line" :class="line.colour" :d="line.path" :stroke-dasharray="line.dash" />
            <circle v-for="dot in line.dots" :key="dot.x" :class="line.colour" :cx="dot.x" :cy="dot.y" r="2.5" />
          </template></template>
          <g v-if="cursor !== null" class="cursor">
            <line :x1="x(cursor)" :x2="x(cursor)" :y1="box.top" :y2="box.bottom" />
            <template v-for="line in lines" :key="line.name">
              <circle v-if="!line.hidden && line.value !== null" :class="line.colour" :cx="x(cursor)" :cy="y(line.value)" r="4" />
            </template></g>
          <text v-if="!known" class="nothing" :x="(box.left + box.right) / 2" :y="(box.top + box.bottom) / 2"
            text-anchor="middle">nothing measured yet</text>
        </svg>
      </div>
    </figure>`,
  props: { title: String, unit: String, initial: Object, span: { type: Number, default: 240 }, heading: { type: String, default: "h3" } },
  data() {
    return { at: 0, series: {}, marks: [], limit: null, hidden: {}, cursor: null, heard: null, byKeys: false, width: 480 };
  },
  created() {
    if (this.initial) this.take(this.initial);
  },
  mounted() {
    this.observer = new ResizeObserver(([seen]) => { if (seen.contentRect.width > 0) this.width = seen.contentRect.width; });
    this.observer.observe(this.$refs.plot);
  },
  unmounted() { this.observer.disconnect(); },
  computed: {
    scale() { return UNITS[this.unit] ?? UNITS.rate; },
    lanes() { return this.placed.reduce((most, mark) => Math.max(most, mark.lane + 1), 0); },
    height() { return HEIGHT; },
    box() {
      return {
        left: MARGIN.left, right: this.width - MARGIN.right, top: MARGIN.top + this.lanes * LANE, bottom: HEIGHT - MARGIN.bottom,
      };
    },
    names() { return Object.keys(this.series); },
    known() { return this.names.some((name) => this.series[name].some((point) => point[1] !== null)); },
    most() {
      let most = 0;
      for (const name of this.names)
        if (!this.hidden[name]) for (const [, value] of this.series[name]) if (value > most) most = value;
      return most;
    },
    limitIsFar() { return this.limit !== null && this.most > 0 && this.limit > FAR * this.most; },
    levels() {
      if (this.scale.most) return ticksUpTo(this.scale.most, this.scale.steps);
      const most = this.limit === null || this.limitIsFar ? this.most : Math.max(this.most, this.limit);
      return ticksUpTo(most * 1.04, this.scale.steps);
    },
    ticks() {
      if (!this.known) return [{ value: 0, y: this.box.bottom, text: "" }];
      return this.levels.map((value) => ({ value, y: this.y(value), text: value ? this.show(value) : "0" }));
    },
    times() {
      const minute = this.span >= 120 ? 60 : 15;
      const all = [];
      for (let passed = 0; passed <= this.span + 0.001; passed += minute) all.push(passed);
      return all.map((passed) => ({
        x: this.x(this.at - passed), anchor: passed === 0 ? "end" : "middle",
        text: passed === 0 ? "now" : minute === 60 ? `−${passed / 60} min` : `−${passed} s`,
      }));
    },
    limitLine() {
      if (this.limitIsFar) return { y: this.box.top, text: `↑ asked for: ${this.show(this.limit)}` };
      return { y: this.y(this.limit), text: "" };
    },
    lines() {
      return this.names.map((name, place) => {
        const points = this.series[name];
        const gap = gapOf(points);
        const runs = runsOf(points, gap);
        const spot = ([at, value]) => `${this.x(at).toFixed(1)} ${this.y(value).toFixed(1)}`;
        const joined = runs.filter((run) => run.length > 1);
        const now = this.cursor ?? this.at;
        return {
          name, hidden: Boolean(this.hidden[name]),
          colour: `series-${1 + (place % COLOURS)}`, dash: DASHES[Math.floor(place / COLOURS) % DASHES.length],
          path: joined.map((run) => `M${run.map(spot).join("L")}`).join(""),
          under: joined.map((run) => `M${this.x(run[0][0]).toFixed(1)} ${this.box.bottom}L${run.map(spot).join("L")}`
            + `L${this.x(run.at(-1)[0]).toFixed(1)} ${this.box.bottom}Z`).join(""),
          dots: runs.filter((run) => run.length === 1).map(([[at, value]]) => ({ x: this.x(at), y: this.y(value) })),
          value: valueAt(points, now, gap),
        };
      });
    },
    // Marks in lanes, so that their words do not lie on each other; one that finds no room has its line only.
    placed() {
      const ends = [];
      return this.marks.filter(([at]) => at >= this.at - this.span).map(([at, text]) => {
        const label = text.length > 34 ? `${text.slice(0, 33)}…` : text;
        const x = this.x(at);
        const wide = label.length * 6.1 + 8;
        const anchor = x + wide > this.width - MARGIN.right ? "end" : "start";
        const [from, to] = anchor === "end" ? [x - wide, x] : [x, x + wide];
        let lane = 0;
        while (lane < 3 && (ends[lane] ?? -1) > from) lane += 1;
        if (lane === 3) return { at, text, x, anchor, lane: 0, label: "" };
        ends[lane] = to;
        return { at, text, x, anchor, lane, label };
      });
    },
    marked() { return this.placed.map((mark) => ({ ...mark, y: MARGIN.top + mark.lane * LANE })); },
    moment() {
      const words = ago(this.at - this.cursor);
      const clock = this.cursor > 1e9 ? ` · ${new Date(this.cursor * 1000).toLocaleTimeString("en-GB")}` : "";
      const near = this.marks.filter(([at]) => Math.abs(at - this.cursor) < this.span / 120).map(([, text]) => ` · ${text}`);
      return words + clock + near.join("");
    },
    spoken() {
      const values = this.lines.filter((line) => !line.hidden).map((line) => `${line.name} ${this.show(line.value)}`);
      const text = `${this.cursor === null ? "now" : this.moment}: ${values.join(", ") || "nothing measured"}`;
      return { now: Math.round(this.span - (this.at - (this.cursor ?? this.at))), text };
    },
    summary() {
      const parts = this.names.map((name) => {
        const values = this.series[name].map((point) => point[1]).filter((value) => value !== null && value !== undefined);
        if (!values.length) return `${name}: nothing measured`;
        return `${name}: last ${this.show(values.at(-1))}, least ${this.show(Math.min(...values))}, most ${this.show(Math.max(...values))}`;
      });
      if (this.limit !== null) parts.push(`asked for: ${this.show(this.limit)}`);
      for (const [at, text] of this.marks.filter(([at]) => at >= this.at - this.span)) parts.push(`${ago(this.at - at)}: ${text}`);
      return `${this.title}, the last ${count(Math.round(this.span / 60))} minutes. ${parts.join("; ")}.`;
    },
  },
  methods: {
    show(value) { return this.scale.show(value); },
    x(at) {
      const [left, right] = [MARGIN.left, this.width - MARGIN.right];
      return left + Math.max(0, 1 - (this.at - at) / this.span) * (right - left);
    },
    y(value) {
      const top = this.levels.at(-1);
      return this.box.bottom - (Math.min(value, top) / top) * (this.box.bottom - this.box.top);
    },
    toggle(name) { if (this.names.length > 1) this.hidden[name] = !this.hidden[name]; },
    follow(event) {
      const place = event.clientX - this.$refs.plot.getBoundingClientRect().left;
      const part = (place - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right);
      this.byKeys = false;
      this.cursor = this.at - (1 - Math.min(1, Math.max(0, part))) * this.span;
    },
    leave(event) {
      if (event.type === "blur") this.heard = null;
      if (event.type === "blur" || !this.byKeys) this.cursor = null;
    },
    // What is said of a slider is said again whenever it changes: where the keyboard is, it changes with keys only.
    speak() { this.heard = this.spoken; },
    press(event) {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -30, PageUp: 30 }[event.key];
      const from = this.at - this.span;
      if (event.key === "Escape") this.cursor = null;
      else if (event.key === "Home") this.cursor = from;
      else if (event.key === "End") this.cursor = this.at;
      else if (step) this.cursor = Math.min(this.at, Math.max(from, (this.cursor ?? this.at) + step * Math.max(1, this.span / 120)));
      else return;
      this.byKeys = event.key !== "Escape";
      this.speak();
      event.preventDefault();
    },
    // What came: points behind those that are known, marks, another limit.
    take({ at, series, marks, limit, gone }) {
      if (at !== undefined) this.at = at;
      const from = this.at - this.span;
      for (const name of gone ?? []) delete this.series[name];
      for (const [name, points] of Object.entries(series ?? {})) {
        const known = this.series[name] ?? [];
        const last = known.length ? known.at(-1)[0] : -Infinity;
        this.series[name] = known.concat(points.filter((point) => point[0] > last));
      }
      for (const name of Object.keys(this.series))
        if (this.series[name].length && this.series[name][0][0] < from)
          this.series[name] = this.series[name].filter((point) => point[0] >= from);
      const told = new Set(this.marks.map(([when, text]) => `${when} ${text}`));
      const fresh = (marks ?? []).filter(([when, text]) => !told.has(`${when} ${text}`));
      if (fresh.length || (this.marks.length && this.marks[0][0] < from))
        this.marks = this.marks.concat(fresh).filter(([when]) => when >= from);
      if (limit !== undefined) this.limit = limit;
      if (this.cursor !== null && this.cursor < from) this.cursor = from;
    },
  },
};
