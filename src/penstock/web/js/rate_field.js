// A rate as a number, for whoever wants it exactly.

export const RateField = {
  template: `
    <input class="input number rate-field" type="number" min="0.1" step="any" title="rows a second" :value="typed ?? value ?? ''"
      :placeholder="placeholder" :disabled="disabled" :aria-label="label" @input="typed = $event.target.value" @change="set" @blur="typed = null" />`,
  props: { label: String, value: Number, placeholder: String, disabled: Boolean },
  emits: ["rate"],
  data() { return { typed: null }; },
  methods: {
    set(event) {
      const rate = event.target.valueAsNumber;
      this.typed = null;
      if (rate > 0) this.$emit("rate", rate);
    },
  },
};
