// How many rows a second a stream is to bring.

import { SLIDER_MOST, rate, sliderPosition, sliderRate } from "penstock-ui";

export default {
  template: `
    <div class="rate-slider">
      <label class="field"><span class="label">{{ label }}</span>
        <input type="range" min="0" :max="most" step="1" :value="at" :disabled="disabled" :aria-valuetext="words"
          @input="at = Number($event.target.value); dragged = true" @change="send(chosen)" /></label>
      <div class="line">
        <strong class="number" style="min-width: 6em">{{ words }}</strong>
        <button v-for="one in steps" type="button" class="button" :disabled="disabled || !known" @click="send(one.of(known))">{{ one.name }}</button>
      </div>
    </div>`,
  props: { label: String, initial: Number, disabled: Boolean },
  emits: ["rate"],
  data() {
    return {
      known: this.initial ?? null, at: sliderPosition(this.initial), dragged: false, most: SLIDER_MOST,
      steps: [
        { name: "÷ 10", of: (value) => value / 10 }, { name: "half", of: (value) => value / 2 },
        { name: "double", of: (value) => value * 2 }, { name: "× 10", of: (value) => value * 10 },
      ],
    };
  },
  computed: {
    chosen() { return sliderRate(this.at); },
    words() { return this.dragged ? rate(this.chosen) : this.known === null ? "no rate set" : rate(this.known); },
  },
  methods: {
    send(value) { this.$emit("rate", { rate: Number(Math.max(value, 0.1).toPrecision(6)) }); },
    take(value) { this.known = value; this.at = sliderPosition(value); this.dragged = false; },
  },
};
