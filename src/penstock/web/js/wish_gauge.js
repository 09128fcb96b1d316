// One wish: how much of what was asked for is used up, with the band that the tolerance makes. To the left is better.

import { LEVEL_WORDS, shown } from "./index.js";

export const WishGauge = {
  template: `
    <span class="gauge" :class="one.level" :title="one.cause" role="img" :aria-label="words">
      <span class="muted">{{ one.wish }}</span>
      <span class="track"><span class="needle" :style="{ width: 100 * (one.place ?? 0) + '%' }"></span>
        <span class="band" :style="{ left: 100 * one.low + '%', right: 100 * (1 - one.high) + '%' }"></span></span>
      <span class="figures">{{ show(one.wish, one.measured) }} of {{ show(one.wish, one.asked) }}</span>
    </span>`,
  props: { one: Object },
  computed: {
    words() {
      const { wish, measured, asked, level, cause } = this.one;
      return `${wish}: ${this.show(wish, measured)} of ${this.show(wish, asked)} asked for, ${LEVEL_WORDS[level]}${cause ? `: ${cause}` : ""}`;
    },
  },
  methods: { show: shown },
};
