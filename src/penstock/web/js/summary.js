// The state of the whole in one glance.

import { LEVELS, LEVEL_WORDS, bytes, count, linePath, rate, seconds, share } from "penstock-ui";

const SPAN_S = 180;

export default {
  template: `
    <div class="tiles" aria-label="Summary">
      <div class="tile"><div class="name">queries</div>
        <div class="value">{{ count(total) }} <small>{{ worst }}</small></div>
        <div class="share" aria-hidden="true"><span v-for="one in levels" :class="one.level" :style="{ flex: one.count }"></span></div>
        <div class="legend"><span v-for="one in levels" class="level" :class="one.level">{{ one.count }} {{ words[one.level] }}</span></div>
      </div>
      <div v-for="tile in tiles" class="tile"><div class="name">{{ tile.name }}</div>
        <div class="value">{{ tile.value }} <small>{{ tile.note }}</small></div>
        <svg class="spark" style="display:block;width:100%;height:34px" viewBox="0 0 100 34" preserveAspectRatio="none" aria-hidden="true">
          <path :d="tile.line"></path></svg>
      </div>
    </div>`,
  props: { initial: Object },
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
      const line = (place, most) => {
        const values = this.points.map((point) => [point[0], point[place]]);
        return linePath(values, 100, 33, most ?? Math.max(...values.map((one) => one[1] ?? 0), 1e-9) * 1.05, this.at - SPAN_S, this.at);
      };
      const last = (place) => this.points.slice(-8).map((point) => point[place]).filter((value) => value !== null).at(-1) ?? null;
      const mean = (place) => {
        const known = this.points.slice(-8).map((point) => point[place]).filter((value) => value !== null);
        return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
      };
      return [
        { name: "latency", value: seconds(last(1)), note: "mean of queries", line: line(1) },
        { name: "memory", value: bytes(last(2)), note: "queues and windows", line: line(2) },
        { name: "staleness", value: share(mean(3)), note: "of the time", line: line(3, 1) },
        { name: "rows in", value: rate(mean(4)), note: this.now.rows === undefined ? "" : `${count(this.now.rows)} in all`, line: line(4) },
      ];
    },
  },
  methods: {
    count,
    take({ at, points, counts, now }) {
      this.at = at;
      this.counts = counts ?? this.counts;
      this.now = now ?? this.now;
      this.points = this.points.concat(points ?? []).filter((point) => point[0] >= at - SPAN_S);
    },
  },
};
