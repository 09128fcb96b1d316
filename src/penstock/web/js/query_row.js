// One query of the overview. Out of sight it is its name and its level; the rest is drawn when one comes to it.

import { LEVEL_WORDS, rate } from "./index.js";
import { METRICS, RATE, line } from "./query_measures.js";
import { Spark } from "./spark.js";
import { WishGauge } from "./wish_gauge.js";

const rows = new WeakMap();
const sight = new IntersectionObserver(
  (seen) => { for (const one of seen) rows.get(one.target).inSight = one.isIntersecting; }, { rootMargin: "300px 0px" });

export const QueryRow = {
  template: `
    <div class="row" role="row">
      <span class="cell who" role="rowheader"><a class="query-name whole-row" :href="row.link">{{ row.name }}</a>
        <span class="line"><span class="level small" :class="row.level">{{ words[row.level] }}</span>
        <span v-if="row.state !== 'running'" class="tag" :class="{ bad: row.state === 'failed' }">{{ row.state }}</span></span>
      </span>
      <template v-if="inSight">
        <span class="cell wishes" role="cell">
          <wish-gauge v-for="one in row.gauges" :key="one.wish" :one="one" />
          <span v-if="!row.gauges.length" class="muted small">nothing asked for</span>
        </span>
        <span v-for="metric in metrics" class="cell" role="cell">
          <span class="name" aria-hidden="true">{{ metric.name }} </span>
          <span class="value">{{ metric.show(row.now[metric.place]) }}</span>
          <spark :values="valuesOf(metric)" :at="row.at" :most="metric.most" />
        </span>
        <span class="cell rate" role="cell"><span class="name" aria-hidden="true">rows out </span><span class="value">{{ rate(row.now[place]) }}</span></span>
        <span v-if="trouble" class="cause" role="cell" aria-colspan="6">{{ trouble }}</span>
      </template>
    </div>`,
  components: { Spark, WishGauge },
  props: { row: Object, points: Function, soon: Boolean },
  data() { return { inSight: this.soon, metrics: METRICS, words: LEVEL_WORDS, place: RATE }; },
  mounted() {
    rows.set(this.$el, this);
    sight.observe(this.$el);
  },
  unmounted() { sight.unobserve(this.$el); },
  computed: {
    trouble() {
      const causes = this.row.gauges.filter((one) => one.level === "violated" && one.cause).map((one) => one.cause);
      return this.row.failure || causes.join("; ");
    },
  },
  methods: {
    rate,
    valuesOf(metric) { return line(this.points(this.row.name), metric); },
  },
};
