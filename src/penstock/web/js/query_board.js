// All queries with what they asked for and what they get: filtered, sorted and grouped here, without the server.

import { LEVELS, LEVEL_WORDS, bytes, count, linePath, rate, seconds, share } from "penstock-ui";
import { WishGauge } from "penstock-ui/wish_gauge.js";

const SPAN_S = 180;
const METRICS = [
  { key: "latency", place: 1, name: "latency", show: seconds },
  { key: "memory", place: 2, name: "memory", show: bytes },
  { key: "staleness", place: 3, name: "staleness", show: share },
];
const SORTS = {
  "worst first": (a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || a.name.localeCompare(b.name),
  name: (a, b) => a.name.localeCompare(b.name),
  latency: (a, b) => (b.now[1] ?? -1) - (a.now[1] ?? -1),
  memory: (a, b) => (b.now[2] ?? -1) - (a.now[2] ?? -1),
  staleness: (a, b) => (b.now[3] ?? -1) - (a.now[3] ?? -1),
  "rows out": (a, b) => (b.now[4] ?? -1) - (a.now[4] ?? -1),
};
const GROUPS = {
  none: () => "",
  "level of service": (row) => LEVEL_WORDS[row.level],
  "shared work": (row) => (row.together > 1 ? row.shape : "alone"),
  stream: (row) => row.reads.join(", "),
  state: (row) => row.state,
};

export default {
  template: `
    <section aria-label="Queries" :data-at="at">
      <div class="board-tools">
        <input class="input" type="search" v-model="filter" placeholder="Filter by name, stream or state"
          aria-label="Filter queries" />
        <label class="line"><span class="muted small">sort by</span>
          <select class="input" v-model="sort" aria-label="Sort queries">
            <option v-for="name in sorts" :value="name">{{ name }}</option></select></label>
        <label class="line"><span class="muted small">group by</span>
          <select class="input" v-model="group" aria-label="Group queries">
            <option v-for="name in groups" :value="name">{{ name }}</option></select></label>
        <span class="muted small" role="status">{{ said }}</span>
      </div>
      <div class="board" role="table" aria-label="Queries and how they are served">
        <div class="header" role="row"><span role="columnheader">query</span><span role="columnheader">asked for and given</span>
          <span v-for="metric in metrics" role="columnheader">{{ metric.name }}</span><span role="columnheader">rows out</span></div>
        <template v-for="part in parts" :key="part.name">
          <div v-if="part.name" role="row"><span role="cell" aria-colspan="6">
          <button type="button" class="group" :aria-expanded="isOpen(part)" @click="toggle(part)">
            <span aria-hidden="true">{{ isOpen(part) ? "▾" : "▸" }}</span>
            <span>{{ part.title }}</span><span class="muted">{{ part.rows.length }}</span>
            <span class="hidden-to-eyes">{{ part.levels.map((one) => one.count + " " + words[one.level]).join(", ") }}</span>
            <span class="share" aria-hidden="true"><span v-for="one in part.levels" :class="one.level"
              :style="{ flex: one.count }"></span></span>
          </button></span></div>
          <template v-if="isOpen(part)">
            <div v-for="row in part.rows" :key="row.name" class="row" role="row">
              <span class="cell who" role="rowheader"><a class="query-name whole-row" :href="row.link">{{ row.name }}</a>
                <span class="line"><span class="level small" :class="row.level">{{ words[row.level] }}</span>
                <span v-if="row.state !== 'running'" class="tag" :class="{ bad: row.state === 'failed' }">{{ row.state }}</span></span>
              </span>
              <span class="cell wishes" role="cell">
                <wish-gauge v-for="one in row.gauges" :key="one.wish" :one="one" />
                <span v-if="!row.gauges.length" class="muted small">nothing asked for</span>
              </span>
              <span v-for="metric in metrics" class="cell" role="cell">
                <span class="name" aria-hidden="true">{{ metric.name }} </span>
                <span class="value">{{ metric.show(row.now[metric.place]) }}</span>
                <svg class="spark" viewBox="0 0 100 22" preserveAspectRatio="none" aria-hidden="true">
                  <path :d="row.lines[metric.key]"></path></svg>
              </span>
              <span class="cell rate value" role="cell"><span class="name" aria-hidden="true">rows out </span>{{ rate(row.now[4]) }}</span>
              <span v-if="row.trouble" class="cause" role="cell" aria-colspan="6">{{ row.trouble }}</span>
            </div>
          </template>
        </template>
      </div>
    </section>`,
  components: { WishGauge },
  props: { initial: Object },
  data() {
    return {
      rows: {}, at: 0, filter: "", sort: "worst first", group: "none", open: {},
      sorts: Object.keys(SORTS), groups: Object.keys(GROUPS), metrics: METRICS, words: LEVEL_WORDS,
    };
  },
  created() {
    if (this.initial) this.take(this.initial);
  },
  computed: {
    parts() {
      const wanted = this.filter.trim().toLowerCase();
      const rows = Object.values(this.rows).filter(
        (row) => !wanted || `${row.name} ${row.reads.join(" ")} ${row.state} ${row.level}`.toLowerCase().includes(wanted));
      rows.sort(SORTS[this.sort]);
      const parts = new Map();
      for (const row of rows) {
        const name = GROUPS[this.group](row);
        if (!parts.has(name)) parts.set(name, { name, title: name, rows: [], levels: [] });
        parts.get(name).rows.push(row);
      }
      for (const part of parts.values()) {
        if (this.group === "shared work" && part.name !== "alone")
          part.title = `one operator network: ${part.rows.slice(0, 3).map((row) => row.name).join(", ")}${part.rows.length > 3 ? " …" : ""}`;
        part.levels = LEVELS.map((level) => ({ level, count: part.rows.filter((row) => row.level === level).length }))
          .filter((one) => one.count);
      }
      return [...parts.values()];
    },
    said() {
      const all = Object.keys(this.rows).length;
      const found = this.parts.reduce((sum, part) => sum + part.rows.length, 0);
      return found === all ? `${count(all)} ${all === 1 ? "query" : "queries"}` : `${count(found)} of ${count(all)} queries`;
    },
  },
  methods: {
    rate,
    isOpen(part) { return !part.name || (this.open[part.name] ?? part.rows.length <= 12); },
    toggle(part) { this.open[part.name] = !this.isOpen(part); },
    // What is new: rows that changed, points that came, names that went.
    take({ at, rows, points, gone }) {
      this.at = at;
      for (const name of gone ?? []) delete this.rows[name];
      for (const [name, row] of Object.entries(rows ?? {})) {
        const known = this.rows[name];
        this.rows[name] = { points: [], now: [], lines: {}, ...known, ...row, name };
      }
      for (const [name, added] of Object.entries(points ?? {})) {
        const row = this.rows[name];
        if (!row) continue;
        row.points = row.points.concat(added).filter((point) => point[0] >= at - SPAN_S);
        row.now = this.latest(row.points);
        for (const metric of METRICS) {
          const values = row.points.map((point) => [point[0], point[metric.place]]);
          const most = metric.key === "staleness" ? 1 : Math.max(...values.map((one) => one[1] ?? 0), 1e-9) * 1.05;
          row.lines[metric.key] = linePath(values, 100, 21, most, at - SPAN_S, at);
        }
      }
    },
    // Of each measure the last that is known; staleness and rates are means of some seconds, since steps are jerky.
    latest(points) {
      const tail = points.slice(-8);
      const last = (place) => tail.map((point) => point[place]).filter((value) => value !== null).at(-1) ?? null;
      const mean = (place) => {
        const known = tail.map((point) => point[place]).filter((value) => value !== null);
        return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
      };
      return [tail.at(-1)?.[0], last(1), last(2), mean(3), mean(4)];
    },
  },
};
