// How many rows a second a stream is to bring.

import { SLIDER_MOST, rate, sliderPosition, sliderRate } from "penstock-ui";
import { RateField } from "penstock-ui/rate_field.js";
import { RateWishes } from "penstock-ui/rate_wishes.js";

// There is one stream here: its wish needs no other name.
const IT = "rate";

export default {
  template: `
    <div class="rate-slider">
      <label class="field"><span class="label">{{ label }}</span>
        <input type="range" min="0" :max="most" step="1" :value="at" :disabled="disabled" :aria-valuetext="words"
          @input="set(fromPosition($event.target.value))" /></label>
      <div class="line">
        <strong class="number" style="min-width: 6em">{{ words }}</strong>
        <rate-field :label="label + ', as a number'" :value="wanted" placeholder="rows/s" :disabled="disabled" @rate="set" />
        <button v-for="one in steps" type="button" class="button" :disabled="disabled || !wanted" @click="step(one)">{{ one.name }}</button>
      </div>
    </div>`,
  components: { RateField },
  props: { label: String, initial: Number, disabled: Boolean },
  emits: ["rate"],
  data() {
    return {
      known: this.initial ?? null, wishes: {}, most: SLIDER_MOST,
      steps: [
        { name: "÷ 10", of: (value) => value / 10 }, { name: "half", of: (value) => value / 2 },
        { name: "double", of: (value) => value * 2 }, { name: "× 10", of: (value) => value * 10 },
      ],
    };
  },
  created() { this.setting = new RateWishes(this.wishes, (_, rate) => this.send(rate)); },
  computed: {
    wanted() { return this.wishes[IT] ?? this.known; },
    at() { return sliderPosition(this.wanted); },
    words() { return this.wanted === null ? "no rate set" : rate(this.wanted); },
  },
  methods: {
    fromPosition(text) { return sliderRate(Number(text)); },
    set(value) { this.setting.set(IT, value); },
    // A press is meant as it is: it need not rest, and what it makes of the rate is shown when it holds.
    step(one) {
      const value = one.of(this.wanted);
      this.setting.drop(IT);
      this.send(Number(Math.max(value, 0.1).toPrecision(6)));
    },
    send(value) { this.$emit("rate", { rate: value }); },
    take(value) {
      this.known = value;
      this.setting.heard(IT, value);
    },
  },
};
