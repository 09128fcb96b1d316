// Results: those that come, the newest first; pages back; a chart that fits them; and all of them as a file.

import { ResultsChart } from "penstock-ui/results_chart.js";

const KEPT = 500;
const SHOWN = 50;

function cell(value) {
  if (value === null || value === undefined) return { text: "NULL", none: true };
  if (typeof value === "number") return { text: Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7))) };
  if (typeof value === "object") return { text: JSON.stringify(value) };
  const text = String(value);
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text)) return { text: text.replace("T", " ").replace(/Z$|\+00:00$/, "").replace(/(\.\d{3})\d+$/, "$1"), time: true };
  return { text };
}

export default {
  template: `
    <div class="results">
      <div class="line">
        <button class="button" type="button" @click="turn(mode === 'live' ? 'pause' : 'follow')">
          {{ mode === "live" ? "Pause" : "Follow new rows" }}</button>
        <button class="button" type="button" :disabled="!canOlder" @click="turn('older')">Older</button>
        <button class="button" type="button" :disabled="!canNewer" @click="turn('newer')">Newer</button>
        <span class="muted small" role="status">{{ said }}</span>
        <span class="line files"><span class="muted small">all as</span>
          <a v-for="file in files" :key="file.href" class="button quiet" :href="file.href" download
            :aria-label="'Download results as ' + file.name">{{ file.name }}</a></span>
      </div>
      <results-chart v-if="fit && rows.length && mode !== 'page'" :columns="columns" :rows="values" :fit="fit" />
      <div v-if="shown.length" class="scroll" tabindex="0" role="region" aria-label="Rows of results">
        <table class="data" aria-label="Rows of results"><thead><tr><th v-for="column in columns" :key="column.name" :class="{ n: column.numeric }" scope="col">
            {{ column.name }} <span class="type">{{ column.shown }}</span></th></tr></thead>
          <tbody><tr v-for="row in shown" :key="row.id" :class="{ fresh: row.fresh }">
            <td v-for="(value, place) in row.cells" :key="place" :class="{ n: columns[place].numeric, none: value.none, time: value.time }">{{ value.text }}</td></tr>
          </tbody></table></div>
      <div v-else-if="told" class="empty"><h3>No row has come out yet</h3>
        <p>Rows are here as soon as they are committed; those of windows come when the watermark has passed their end.</p></div>
    </div>`,
  components: { ResultsChart },
  props: { types: Object, files: Array },
  emits: ["turn"],
  data() {
    return { columns: [], rows: [], page: null, fit: null, mode: "live", told: false, serial: 0, earlier: false };
  },
  computed: {
    values() { return this.rows.map((row) => row.values); },
    shown() {
      const rows = this.mode === "page" ? this.page.rows : this.rows.slice(-SHOWN);
      return rows.toReversed().map((row) => ({ id: row.id, fresh: row.fresh, cells: row.values.map(cell) }));
    },
    canOlder() { return this.mode === "page" ? this.page.older : this.earlier || this.rows.length > SHOWN; },
    canNewer() { return this.mode === "page" && this.page.newer; },
    said() {
      if (this.mode === "page") return `${this.page.rows.length} older rows, the newest first`;
      if (this.mode === "paused") return "paused";
      if (!this.told) return "looking …";
      if (!this.rows.length) return "following";
      return this.shown.length < this.rows.length || this.earlier
        ? `following; the last ${this.shown.length} rows, the newest first` : "following; all rows, the newest first";
    },
  },
  methods: {
    turn(where) {
      if (where === "pause") this.mode = "paused";
      if (where === "follow") this.mode = "live";
      this.$emit("turn", where);
    },
    made(rows, fresh) { return rows.map((values) => ({ id: ++this.serial, values: Object.freeze(values), fresh })); },
    take({ columns, rows, fit, reset, earlier, page }) {
      this.told = true;
      if (columns && JSON.stringify(columns) !== JSON.stringify(this.columns.map(({ name, type }) => ({ name, type }))))
        this.columns = columns.map((one) => ({
          ...one, numeric: /^u?int|^float|^double|^half|^decimal/.test(one.type), shown: this.types?.[one.name] ?? one.type,
        }));
      if (page) {
        this.page = { ...page, rows: this.made(page.rows, false) };
        this.mode = "page";
        return;
      }
      if (reset) { this.mode = "live"; this.page = null; this.earlier = Boolean(earlier); }
      const known = reset ? [] : this.rows.map((row) => (row.fresh ? { ...row, fresh: false } : row));
      const all = known.concat(this.made(rows, !reset));
      if (all.length > KEPT) this.earlier = true;
      this.rows = all.slice(-KEPT);
      this.fit = fit;
    },
  },
};
