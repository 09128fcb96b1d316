// Operators by what they cost: sorted and filtered here, without the server.

import { bytes, count, digits, rate, seconds, share } from "penstock-ui";

const FOLDED = 40;
const COLUMNS = [
  { key: "text", name: "operator", of: (row) => row.text },
  { key: "share", name: "share of the work", n: true, of: (row) => row.share ?? -1 },
  { key: "cost", name: "cost of a row", n: true, of: (row) => row.cost ?? -1 },
  { key: "rate", name: "rows in", n: true, of: (row) => row.rate ?? -1 },
  { key: "selectivity", name: "selectivity", n: true, of: (row) => row.selectivity ?? -1 },
  { key: "waiting", name: "waiting rows", n: true, of: (row) => row.waiting },
  { key: "memory", name: "memory", n: true, of: (row) => row.memory },
  { key: "state", name: "state", of: (row) => row.state },
  { key: "queries", name: "serves", of: (row) => row.queries.length },
];

export default {
  template: `
    <div>
      <div class="board-tools">
        <input class="input" type="search" v-model="filter" placeholder="Filter by operator, kind, query or state" aria-label="Filter operators" />
        <label class="line only-phone"><span class="muted small">sort by</span>
          <select class="input" v-model="key" aria-label="Sort operators">
            <option v-for="one in columns" :value="one.key">{{ one.name }}</option></select></label>
        <span class="muted small" role="status">{{ said }}</span>
      </div>
      <div class="scroll"><table class="data operators" aria-label="Operators by measured cost">
        <thead><tr><th v-for="one in columns" :key="one.key" scope="col" :class="{ n: one.n }"
          :aria-sort="key === one.key ? (up ? 'ascending' : 'descending') : 'none'">
          <button type="button" @click="order(one.key)">{{ one.name }}<span aria-hidden="true">{{ key === one.key ? (up ? " ↑" : " ↓") : "" }}</span></button></th></tr></thead>
        <tbody><tr v-for="row in shown" :key="row.name">
          <td class="what"><span class="operator-text">{{ row.text }}</span>
            <span class="muted small">{{ row.kind }}, unit {{ row.units.join(", ") || "–" }}{{ row.partition ? ", partition " + row.partition : "" }}</span></td>
          <td class="n" data-name="share of the work"><span class="bar" aria-hidden="true"><span :style="{ width: 100 * (row.share ?? 0) + '%' }"></span></span><span class="number">{{ share(row.share) }}</span></td>
          <td class="n" data-name="cost of a row" :title="row.measured ? 'measured' : 'a guess until it is measured'">{{ seconds(row.cost) }}
            <span class="muted small">{{ offBy(row) }}</span></td>
          <td class="n" data-name="rows in">{{ rate(row.rate) }}</td>
          <td class="n" data-name="selectivity">{{ passes(row.selectivity) }}</td>
          <td class="n" data-name="waiting rows">{{ count(row.waiting) }}</td>
          <td class="n" data-name="memory" :title="'remembered: ' + bytes(row.remembered)">{{ bytes(row.memory) }}</td>
          <td data-name="state"><span class="tag" :class="{ good: row.state === 'running' }">{{ row.state }}</span></td>
          <td class="small" data-name="serves" :title="row.queries.join(', ')">{{ serves(row) }}</td>
        </tr></tbody></table></div>
      <button v-if="matching.length > most" type="button" class="button" style="margin-top: 10px" @click="all = !all">
        {{ all ? "Show the first " + most : "Show all " + matching.length }}</button>
    </div>`,
  props: { initial: Object },
  data() { return { rows: {}, key: "share", up: false, filter: "", all: false, columns: COLUMNS, most: FOLDED }; },
  created() { if (this.initial) this.take(this.initial); },
  computed: {
    matching() {
      const wanted = this.filter.trim().toLowerCase();
      const of = COLUMNS.find((one) => one.key === this.key).of;
      const rows = Object.values(this.rows).filter((row) => !wanted
        || `${row.text} ${row.kind} ${row.state} ${row.partition} ${row.queries.join(" ")}`.toLowerCase().includes(wanted));
      const sign = this.up ? 1 : -1;
      return rows.sort((a, b) => {
        const [x, y] = [of(a), of(b)];
        return (typeof x === "string" ? x.localeCompare(y) : x - y) * sign || a.name.localeCompare(b.name);
      });
    },
    shown() { return this.all ? this.matching : this.matching.slice(0, FOLDED); },
    said() {
      const total = Object.keys(this.rows).length;
      const words = `${count(total)} ${total === 1 ? "operator" : "operators"}`;
      return this.matching.length === total ? words : `${count(this.matching.length)} of ${words}`;
    },
  },
  methods: {
    bytes, count, rate, seconds, share,
    order(key) {
      if (this.key === key) this.up = !this.up;
      else { this.key = key; this.up = key === "text" || key === "state"; }
    },
    offBy(row) {
      if (!row.measured) return "guessed";
      return row.error === null ? "" : `± ${share(row.error)}`;
    },
    passes(value) {
      if (value === null) return "–";
      return value > 1 ? `${digits(value)} ×` : value > 0 && value < 0.0001 ? "< 0.01 %" : share(value);
    },
    serves(row) {
      return row.queries.slice(0, 2).join(", ") + (row.queries.length > 2 ? ` and ${row.queries.length - 2} more` : "");
    },
    take({ rows, gone }) {
      for (const name of gone ?? []) delete this.rows[name];
      for (const row of rows ?? []) this.rows[row.name] = row;
    },
  },
};
