// What was asked for and what is given, with the cause where it is not kept.

import { LEVEL_WORDS } from "penstock-ui";
import { WishGauge } from "penstock-ui/wish_gauge.js";

export default {
  template: `
    <ul class="wish-list" aria-label="Wishes">
      <li v-for="one in wishes" :key="one.wish">
        <span class="level" :class="one.level">{{ words[one.level] }}</span>
        <wish-gauge :one="one" />
        <span v-if="one.life" class="muted small">in its whole life: {{ words[one.life] }}</span>
        <p v-if="one.cause" class="small">{{ one.cause }}</p>
      </li>
      <li v-if="!wishes.length" class="muted">Nothing was asked for: the scheduler serves this query as well as the others
        let it. Alter it to ask for a latency, a memory limit, freshness or throughput.</li>
    </ul>`,
  components: { WishGauge },
  props: { initial: Array },
  data() { return { wishes: this.initial ?? [], words: LEVEL_WORDS }; },
  methods: { take(wishes) { this.wishes = wishes; } },
};
