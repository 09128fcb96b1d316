// All streams: how fast they come, how far their time is, what of them is late or does not fit, and their pace.

import { SLIDER_MOST, count, rate, sliderPosition, sliderRate } from "penstock-ui";
import { added } from "penstock-ui/query_measures.js";
import { RateField } from "penstock-ui/rate_field.js";
import { RateWishes } from "penstock-ui/rate_wishes.js";
import { Spark } from "penstock-ui/spark.js";

const STATES = {
  running: ["met", "running"], waiting: ["unknown", "waiting for rows"],
  failing: ["violated", "failing"], ended: ["none", "ended"],
};
const SORTS = {
  name: (a, b) => a.name.localeCompare(b.name),
  rate: (a, b) => (b.now ?? 0) - (a.now ?? 0) || a.name.localeCompare(b.name),
  rows: (a, b) => b.rows - a.rows || a.name.localeCompare(b.name),
  "late and bad rows": (a, b) => b.late + b.bad - a.late - a.bad || a.name.localeCompare(b.name),
  "trouble first": (a, b) => (b.trouble !== "") - (a.trouble !== "") || a.name.localeCompare(b.name),
};

export default {
  template: `
    <section aria-label="All streams">
      <div class="board-tools">
        <input class="input" type="search" v-model="filter" placeholder="Filter by name, format or state"
          aria-label="Filter streams" />
        <label class="line"><span class="muted small">sort by</span>
          <select class="input" v-model="sort" aria-label="Sort streams">
            <option v-for="name in sorts" :value="name">{{ name }}</option></select></label>
        <span class="muted small" role="status">{{ said }}</span>
      </div>
      <div class="board streams">
        <div class="header" aria-hidden="true"><span>stream</span><span>rate</span><span>pace</span><span class="n">rows</span>
          <span>watermark</span><span class="n">late</span><span class="n">bad</span><span>read by</span></div>
        <div v-for="row in shown" :key="row.name" class="row">
          <span class="cell who"><a class="query-name" :href="row.link">{{ row.name }}</a>
            <span class="line"><span class="level small" :class="levelOf(row)">{{ wordOf(row) }}</span>
              <span class="muted small">{{ row.format }}, {{ row.columns }} {{ row.columns === 1 ? "column" : "columns" }}</span>
              <span v-if="row.waited" class="tag" title="Windows or joins wait for it: other streams have come further">others wait for it</span></span>
          </span>
          <span class="cell"><span class="name">rate </span><span class="value">{{ rate(row.now ?? 0) }}</span>
            <spark :values="row.points" :at="row.at" /></span>
          <span class="cell pace">
            <template v-if="row.paced">
              <input type="range" min="0" :max="most" step="1" :value="positionOf(row)" :disabled="!may" :title="may ? '' : why"
                :aria-label="'Rate of ' + row.name" :aria-valuetext="wishOf(row)"
                @input="set(row, fromPosition($event.target.value))" />
              <rate-field :label="'Rate of ' + row.name + ' in rows a second'" :value="wishes[row.name] ?? row.rate"
                :placeholder="wishOf(row)" :disabled="!may" @rate="set(row, $event)" /></template>
            <span v-else class="muted small">as rows come</span></span>
          <span class="cell n"><span class="name">rows </span><span class="value">{{ count(row.rows) }}</span></span>
          <span class="cell small watermark"><span class="name">watermark </span>{{ row.watermark || "none yet" }}</span>
          <span class="cell n" :class="{ some: row.late }"><span class="name">late </span><span class="value">{{ count(row.late) }}</span></span>
          <span class="cell n" :class="{ some: row.bad }"><span class="name">bad </span>
            <a v-if="row.bad" class="value" :href="row.link + '#bad-rows'">{{ count(row.bad) }}</a><span v-else class="value">0</span></span>
          <span class="cell small by"><span class="name">read by </span>{{ byOf(row) }}</span>
          <span v-if="row.trouble" class="cause bad">{{ row.trouble }}</span>
        </div>
        <p v-if="!shown.length" class="muted" style="padding: 12px">No stream is like that.</p>
      </div>
    </section>`,
  components: { RateField, Spark },
  props: { initial: Object, may: Boolean, why: String },
  emits: ["rate"],
  data() { return { rows: {}, at: 0, filter: "", sort: "name", sorts: Object.keys(SORTS), wishes: {}, most: SLIDER_MOST }; },
  created() {
    this.setting = new RateWishes(this.wishes, (name, rate) => this.$emit("rate", { name, rate }));
    if (this.initial) this.take(this.initial);
  },
  computed: {
    shown() {
      const wanted = this.filter.trim().toLowerCase();
      return Object.values(this.rows)
        .filter((row) => !wanted || `${row.name} ${row.format} ${row.state} ${row.by.join(" ")}`.toLowerCase().includes(wanted))
        .sort(SORTS[this.sort]);
    },
    said() {
      const all = Object.keys(this.rows).length;
      const words = `${count(all)} ${all === 1 ? "stream" : "streams"}`;
      return this.shown.length === all ? words : `${count(this.shown.length)} of ${words}`;
    },
  },
  methods: {
    count, rate,
    levelOf(row) { return (STATES[row.state] ?? STATES.waiting)[0]; },
    wordOf(row) {
      if (row.state === "waiting" && !row.by.length) return "not read yet";
      return (STATES[row.state] ?? [null, row.state])[1];
    },
    byOf(row) {
      if (!row.by.length) return "no query";
      const rest = row.by.length - 3;
      return row.by.slice(0, 3).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
    },
    fromPosition(text) { return sliderRate(Number(text)); },
    positionOf(row) { return sliderPosition(this.wishes[row.name] ?? row.rate ?? row.now); },
    wishOf(row) {
      const wanted = this.wishes[row.name] ?? row.rate;
      return wanted === null ? row.pace || "as fast as it goes" : rate(wanted);
    },
    set(row, wanted) { this.setting.set(row.name, wanted); },
    take({ at, rows, points, gone }) {
      this.at = at;
      for (const name of gone ?? []) delete this.rows[name];
      for (const [name, row] of Object.entries(rows ?? {})) {
        this.rows[name] = { points: [], at, now: 0, ...this.rows[name], ...row };
        this.setting.heard(name, row.rate);
      }
      for (const [name, came] of Object.entries(points ?? {})) {
        const row = this.rows[name];
        if (!row) continue;
        row.points = added(row.points, came, at);
        row.now = row.points.at(-1)?.[1] ?? 0;
        row.at = at;
      }
    },
  },
};
