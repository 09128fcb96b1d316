// A small line over the last minutes, as wide as its place; it begins where something is known.

import { linePath } from "./index.js";

export const SPAN_S = 180;
// A line of a few moments is not drawn out over the whole width.
const LEAST_S = 20;
const WIDTH = 100;

export const Spark = {
  template: `
    <svg class="spark" :viewBox="'0 0 ${WIDTH} ' + height" :style="{ height: height + 'px' }" preserveAspectRatio="none" aria-hidden="true">
      <path class="under" :d="under"></path><path :d="line"></path></svg>`,
  props: { values: Array, at: Number, most: Number, height: { type: Number, default: 24 } },
  computed: {
    known() { return this.values.filter(([, value]) => value !== null && value !== undefined); },
    from() { return Math.min(this.at - LEAST_S, Math.max(this.at - SPAN_S, this.known[0]?.[0] ?? 0)); },
    top() { return this.most ?? this.known.reduce((most, [, value]) => Math.max(most, value), 1e-9) * 1.05; },
    line() { return linePath(this.known, WIDTH, this.height - 1, this.top, this.from, this.at); },
    under() {
      if (!this.line) return "";
      const [first, last] = [this.line.slice(1).split(" ")[0], this.line.split(/[ML]/).at(-1).split(" ")[0]];
      return `${this.line}L${last} ${this.height}L${first} ${this.height}Z`;
    },
  },
};
