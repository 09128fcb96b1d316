// All queries with what they asked for and what they get: filtered, sorted and grouped here, without the server.

import { LEVELS, LEVEL_WORDS, count } from "penstock-ui";
import { QueryGroup } from "penstock-ui/query_group.js";
import { METRICS, RATE, added, latest } from "penstock-ui/query_measures.js";
import { QueryRow } from "penstock-ui/query_row.js";

// More queries than these are grouped by the work they share, until somebody chooses otherwise.
const MANY = 40;
// A group of more than these is folded.
const FOLDED = 12;
// So many rows are drawn before it is known which are in sight.
const SOON = 12;
const CHOSEN = "penstock-overview";
const more = (place) => (a, b) => (b.now[place] ?? -1) - (a.now[place] ?? -1);
const SORTS = {
  "worst first": (a, b) =>
    LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || b.beyond - a.beyond || a.name.localeCompare(b.name),
  name: (a, b) => a.name.localeCompare(b.name),
  latency: more(1),
  memory: more(2),
  staleness: more(3),
  "rows out": more(RATE),
};
const ALONE = "alone";
const GROUPS = {
  none: () => "",
  "level of service": (row) => LEVEL_WORDS[row.level],
  "shared work": (row) => (row.together > 1 ? row.shape : ALONE),
  stream: (row) => row.reads.join(" and "),
  state: (row) => row.state,
};

function chosen() {
  try {
    const { sort, group } = JSON.parse(localStorage.getItem(CHOSEN)) ?? {};
    return { sort: sort in SORTS ? sort : "worst first", group: group in GROUPS ? group : "" };
  } catch {
    return { sort: "worst first", group: "" };
  }
}

export default {
  template: `
    <section aria-label="Queries" :data-at="at">
      <div class="board-tools">
        <input class="input" type="search" v-model="filter" placeholder="Filter by name, stream or state"
          aria-label="Filter queries" />
        <label class="line"><span class="muted small">sort by</span>
          <select class="input" :value="sort" @change="choose({ sort: $event.target.value })" aria-label="Sort queries">
            <option v-for="name in sorts" :value="name">{{ name }}</option></select></label>
        <label class="line"><span class="muted small">group by</span>
          <select class="input" :value="grouping" @change="choose({ group: $event.target.value })" aria-label="Group queries">
            <option v-for="name in groups" :value="name">{{ name }}</option></select></label>
        <span class="muted small" role="status">{{ said }}</span>
      </div>
      <div class="board" role="table" aria-label="Queries and how they are served">
        <div class="header" role="row"><span role="columnheader">query</span><span role="columnheader">asked for and given</span>
          <span v-for="metric in metrics" role="columnheader">{{ metric.name }}</span><span role="columnheader">rows out</span></div>
        <template v-for="part in parts" :key="part.name">
          <query-group v-if="part.name" :part="part" :open="isOpen(part)" :at="at" :points="pointsOf" @toggle="toggle(part)" />
          <template v-if="isOpen(part)">
            <query-row v-for="(row, place) in part.rows" :key="row.name" :row="row" :points="pointsOf" :soon="place < soon" />
          </template>
        </template>
        <p v-if="!parts.length" class="muted" style="padding: 12px">No query is like that.</p>
      </div>
    </section>`,
  components: { QueryGroup, QueryRow },
  props: { initial: Object },
  data() {
    return {
      rows: Object.freeze({}), at: 0, filter: "", ...chosen(), open: {}, soon: SOON,
      sorts: Object.keys(SORTS), groups: Object.keys(GROUPS), metrics: METRICS,
    };
  },
  created() {
    this.points = new Map();
    if (this.initial) this.take(this.initial);
  },
  computed: {
    grouping() { return this.group || (Object.keys(this.rows).length > MANY ? "shared work" : "none"); },
    parts() {
      const wanted = this.filter.trim().toLowerCase();
      const rows = Object.values(this.rows).filter(
        (row) => !wanted || `${row.name} ${row.reads.join(" ")} ${row.state} ${row.level}`.toLowerCase().includes(wanted));
      rows.sort(SORTS[this.sort]);
      const parts = new Map();
      for (const row of rows) {
        const name = GROUPS[this.grouping](row);
        if (!parts.has(name)) parts.set(name, { name, rows: [] });
        parts.get(name).rows.push(row);
      }
      return [...parts.values()].map((part) => ({ ...part, ...this.headOf(part) }))
        .sort((a, b) => (a.name === ALONE) - (b.name === ALONE) || b.rows.length - a.rows.length || a.name.localeCompare(b.name));
    },
    said() {
      const all = Object.keys(this.rows).length;
      const found = this.parts.reduce((sum, part) => sum + part.rows.length, 0);
      return found === all ? `${count(all)} ${all === 1 ? "query" : "queries"}` : `${count(found)} of ${count(all)} queries`;
    },
  },
  methods: {
    pointsOf(name) { return this.points.get(name) ?? []; },
    choose(other) {
      Object.assign(this, other);
      try {
        localStorage.setItem(CHOSEN, JSON.stringify({ sort: this.sort, group: this.group }));
      } catch { /* a browser that keeps nothing */ }
    },
    headOf({ name, rows }) {
      const number = `${count(rows.length)} ${rows.length === 1 ? "query" : "queries"}`;
      if (this.grouping !== "shared work")
        return { title: this.grouping === "stream" ? `Over ${name || "no stream"}` : name, note: number };
      if (name === ALONE) return { title: `${number} on ${rows.length === 1 ? "its" : "their"} own`, note: "sharing no whole network" };
      const names = rows.map((row) => row.name).sort().slice(0, 2).join(", ");
      return { title: `${number} as one`, note: names + (rows.length > 2 ? `, … over ${rows[0].reads.join(" and ")}` : "") };
    },
    isOpen(part) {
      return !part.name || (this.open[part.name] ?? (this.filter !== "" || part.rows.length <= FOLDED || this.parts.length === 1));
    },
    toggle(part) { this.open[part.name] = !this.isOpen(part); },
    // What is new: rows that changed, points that came, names that went.
    take({ at, rows, points, gone }) {
      // All rows are put in place at once, and frozen: Vue need not watch each figure of hundreds.
      const all = { ...this.rows };
      for (const name of gone ?? []) {
        delete all[name];
        this.points.delete(name);
      }
      for (const [name, row] of Object.entries(rows ?? {})) all[name] = { now: [], at, ...all[name], ...row, name };
      for (const [name, came] of Object.entries(points ?? {})) {
        if (!all[name]) continue;
        const known = added(this.points.get(name), came, at);
        this.points.set(name, known);
        all[name] = { ...all[name], now: latest(known), at };
      }
      Object.values(all).forEach(Object.freeze);
      this.rows = Object.freeze(all);
      this.at = at;
    },
  },
};
