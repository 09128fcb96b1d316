// The state of the whole in one glance.

import { LEVELS, LEVEL_WORDS, bytes, count, rate, seconds, share } from "penstock-ui";
import { added, latest } from "penstock-ui/query_measures.js";
import { Spark } from "penstock-ui/spark.js";

export default {
  template: `
    <div class="tiles" role="group" aria-label="Summary">
      <div class="tile"><div class="name">queries</div>
        <div class="value">{{ at ? count(total) : "–" }} <small>{{ worst }}</small></div>
        <div class="share" aria-hidden="true"><span v-for="one in levels" :class="one.level" :style="{ flex: one.count }"></span></div>
        <div class="legend"><span v-for="one in levels" class="level" :class="one.level">{{ one.count }} {{ words[one.level] }}</span></div>
      </div>
      <div v-for="tile in tiles" class="tile"><div class="name">{{ tile.name }}</div>
        <div class="value">{{ tile.value }} <small>{{ tile.note }}</small></div>
        <spark :values="tile.values" :at="at" :most="tile.most" :height="34" />
      </div>
    </div>`,
  components: { Spark },
  props: { initial: Object },
  // At 0 nothing is known yet: the engine is starting.
  data() { return { at: 0, points: [], counts: {}, now: {}, words: LEVEL_WORDS }; },
  created() { if (this.initial) this.take(this.initial); },
  computed: {
    total() { return Object.values(this.counts).reduce((sum, one) => sum + one, 0); },
    levels() { return LEVELS.map((level) => ({ level, count: this.counts[level] ?? 0 })).filter((one) => one.count); },
    worst() {
      if (this.counts.violated) return `${this.counts.violated} violated`;
      return this.counts.risk ? `${this.counts.risk} at risk` : "";
    },
    tiles() {
      const values = (place) => this.points.map((point) => [point[0], point[place]]);
      const [, latency, memory, staleness, rows] = latest(this.points);
      const all = !this.at || this.now.rows === undefined ? "" : `${count(this.now.rows)} in all`;
      return [
        { name: "latency", value: seconds(latency), note: "mean of queries", values: values(1) },
        { name: "memory", value: bytes(memory), note: "queues and windows", values: values(2) },
        { name: "staleness", value: share(staleness), note: "of the time", values: values(3), most: 1 },
        { name: "rows in", value: rate(rows), note: all, values: values(4) },
      ];
    },
  },
  methods: {
    count,
    take({ at, points, counts, now }) {
      this.at = at;
      this.counts = counts ?? this.counts;
      this.now = now ?? this.now;
      this.points = added(this.points, points ?? [], at);
    },
  },
};
