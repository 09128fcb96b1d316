// Queries of the overview that are shown as one until somebody opens them: how they stand together.

import { LEVELS, LEVEL_WORDS, rate } from "./index.js";
import { LinesOfMany, METRICS, summary } from "./query_measures.js";
import { Spark } from "./spark.js";
import { WishGauge } from "./wish_gauge.js";

export const QueryGroup = {
  template: `
    <div class="group" role="row" @click="$emit('toggle')">
      <span class="cell who" role="rowheader">
        <button type="button" :aria-expanded="String(open)">
          <span aria-hidden="true">{{ open ? "▾" : "▸" }}</span> {{ part.title }}</button>
        <span class="muted small note">{{ part.note }}</span>
        <span class="share" aria-hidden="true"><span v-for="one in levels" :class="one.level" :style="{ flex: one.count }"></span></span>
        <span class="legend"><span v-for="one in levels" class="level" :class="one.level">{{ one.count }} {{ words[one.level] }}</span></span>
      </span>
      <span class="cell wishes" role="cell"><template v-if="worst">
        <span class="muted small">worst: {{ worst.name }}</span><wish-gauge :one="worst.gauge" /></template>
        <span v-else class="muted small">nothing asked for</span></span>
      <span v-for="(metric, place) in metrics" class="cell" role="cell">
        <span class="name" aria-hidden="true">{{ metric.name }} </span>
        <span class="value">{{ now.texts[place] }}</span>
        <spark :values="lines[place]" :at="at" :most="metric.most" />
      </span>
      <span class="cell rate" role="cell"><span class="name" aria-hidden="true">rows out </span><span class="value">{{ rate(now.rate) }}</span></span>
    </div>`,
  components: { Spark, WishGauge },
  props: { part: Object, open: Boolean, at: Number, points: Function },
  emits: ["toggle"],
  data() { return { metrics: METRICS, words: LEVEL_WORDS }; },
  created() { this.many = new LinesOfMany(); },
  computed: {
    lines() { return this.many.take(this.part.rows.map((row) => row.name).sort(), this.points, this.at); },
    now() { return summary(this.part.rows); },
    levels() {
      return LEVELS.map((level) => ({ level, count: this.part.rows.filter((row) => row.level === level).length }))
        .filter((one) => one.count);
    },
    worst() {
      let worst = null;
      for (const { name, gauges } of this.part.rows)
        for (const gauge of gauges) {
          const rank = [LEVELS.indexOf(gauge.level), -(gauge.measured === null ? 0 : gauge.measured / gauge.asked)];
          if (!worst || rank[0] < worst.rank[0] || (rank[0] === worst.rank[0] && rank[1] < worst.rank[1])) worst = { name, gauge, rank };
        }
      return worst;
    },
  },
  methods: { rate },
};
