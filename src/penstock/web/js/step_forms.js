// Parts of the forms of the operator builder: conditions, windows, columns.

const NUMBERS = /^(tinyint|smallint|int|bigint|float|double|decimal)/;
const ALWAYS = { "is null": "is missing", "is not null": "is there" };
const EQUAL = { "=": "=", "<>": "≠" };
const ORDER = { ...EQUAL, "<": "<", "<=": "≤", ">": ">", ">=": "≥", between: "between" };

export function comparisons(type) {
  if (type === "boolean") return { "is true": "is true", "is false": "is false", ...ALWAYS };
  if (type === "string") return { ...EQUAL, in: "is one of", like: "is like", ...ALWAYS };
  if (NUMBERS.test(type)) return { ...ORDER, in: "is one of", ...ALWAYS };
  if (/^(timestamp|date)/.test(type)) return { ...ORDER, ...ALWAYS };
  return { ...EQUAL, ...ALWAYS };
}

export function example(type, comparison) {
  if (comparison === "in") return type === "string" ? "hall, kitchen" : "1, 2, 3";
  if (comparison === "like") return "%room%";
  if (type === "string") return "hall";
  if (/^timestamp/.test(type)) return "2026-03-02 08:00:00";
  if (type === "date") return "2026-03-02";
  return "30";
}

export const condition = () => ({ column: "", comparison: "=", value: "", until: "" });
export const conditions = () => ({ each: [condition()], text: "" });
export const windowOf = (kind = "none") => ({ kind, width: "10", unit: "minutes", slide: "", slide_unit: "minutes", time: "" });
export const isNumber = (type) => NUMBERS.test(type);

// `columns` are pairs of name and type.
export const ConditionList = {
  template: `
    <div class="stack tight">
      <div v-for="(one, place) in value.each" :key="place" class="form-row">
        <select class="input" v-model="one.column" :aria-label="'Column of condition ' + (place + 1)" @change="fit(one)">
          <option value="">{{ place ? "choose a column" : all }}</option>
          <option v-for="[name, type] in columns" :value="name">{{ name }} · {{ type }}</option></select>
        <template v-if="one.column">
          <select class="input short" v-model="one.comparison" :aria-label="'Comparison of condition ' + (place + 1)">
            <option v-for="(words, sign) in signs(one)" :value="sign">{{ words }}</option></select>
          <input v-if="!one.comparison.startsWith('is ')" class="input" v-model="one.value" :placeholder="example(typeOf(one), one.comparison)"
            :aria-label="'Value of condition ' + (place + 1)" autocomplete="off" spellcheck="false" />
          <template v-if="one.comparison === 'between'"><span class="muted small">and</span>
            <input class="input" v-model="one.until" :aria-label="'Other value of condition ' + (place + 1)" autocomplete="off" /></template>
        </template>
        <button v-if="value.each.length > 1" type="button" class="button quiet" :aria-label="'Remove condition ' + (place + 1)" @click="value.each.splice(place, 1)">✕</button>
      </div>
      <div class="form-row">
        <button type="button" class="button quiet add" @click="value.each.push(fresh())">+ and another condition</button>
        <label class="grow line"><span class="muted small">and in SQL</span>
          <input class="input grow mono" v-model="value.text" :placeholder="sql" :list="list" autocomplete="off" spellcheck="false" aria-label="Condition in SQL" /></label>
      </div>
    </div>`,
  props: { value: Object, columns: Array, list: String, all: { default: "all rows" }, sql: { default: "hour(t) BETWEEN 8 AND 17" } },
  methods: {
    example, fresh: condition,
    typeOf(one) { return this.columns.find(([name]) => name === one.column)?.[1] ?? ""; },
    signs(one) { return comparisons(this.typeOf(one)); },
    fit(one) { if (!(one.comparison in this.signs(one))) one.comparison = Object.keys(this.signs(one))[0]; },
  },
};

const UNITS = ["milliseconds", "seconds", "minutes", "hours", "days"];
const KINDS = { none: "none", tumbling: "tumbling", hopping: "hopping", range: "time range", rows: "rows", session: "session" };
const MEANS = {
  none: "no window", tumbling: "windows of time, one after the other", hopping: "windows of time that overlap",
  range: "windows of time, written behind the stream", rows: "windows by number of rows", session: "until nothing comes for as long as the gap",
};

export const WindowForm = {
  template: `
    <div class="form-row">
      <select class="input" v-model="value.kind" :aria-label="label" :title="means[value.kind]" @change="fit"><option v-for="kind in kinds" :value="kind">{{ names[kind] }}</option></select>
      <template v-if="value.kind !== 'none'">
        <label v-if="timed" class="line"><span class="muted small">on</span>
          <select class="input" v-model="value.time" :aria-label="label + ', time column'">
            <option value="">{{ time ? time : "choose a time" }}</option><option v-for="name in times" :value="name">{{ name }}</option></select></label>
        <label class="line"><span class="muted small">{{ value.kind === "session" ? "gap" : "width" }}</span>
          <input class="input tiny" v-model="value.width" inputmode="decimal" :aria-label="label + ', width'" /></label>
        <select v-if="value.kind !== 'rows'" class="input short" v-model="value.unit" :aria-label="label + ', unit of the width'"><option v-for="unit in units" :value="unit">{{ unit }}</option></select>
        <span v-else class="muted small">rows</span>
        <template v-if="slides"><label class="line"><span class="muted small">every</span>
          <input class="input tiny" v-model="value.slide" inputmode="decimal" :placeholder="value.kind === 'hopping' ? '1' : '–'" :aria-label="label + ', slide'" /></label>
          <select v-if="value.kind !== 'rows'" class="input short" v-model="value.slide_unit" :aria-label="label + ', unit of the slide'"><option v-for="unit in units" :value="unit">{{ unit }}</option></select>
          <span v-else class="muted small">rows</span></template>
      </template>
    </div>`,
  props: { value: Object, label: String, kinds: Array, columns: Array, time: String },
  data() { return { units: UNITS, names: KINDS, means: MEANS }; },
  computed: {
    timed() { return ["tumbling", "hopping", "session"].includes(this.value.kind); },
    slides() { return ["hopping", "range", "rows"].includes(this.value.kind); },
    times() { return this.columns.filter(([name, type]) => /^timestamp/.test(type) && name !== this.time).map(([name]) => name); },
  },
  methods: {
    fit() {
      if (this.value.kind === "hopping" && !this.value.slide) this.value.slide = "1";
      if (this.value.kind === "tumbling" || this.value.kind === "session") this.value.slide = "";
    },
  },
};

// What a step makes: each column with its type, those that were not there before marked.
export const Makes = {
  template: `
    <div class="makes"><span class="muted small">{{ title }}</span>
      <ul class="columns" :aria-label="title"><li v-for="[name, type] in columns" :class="{ fresh: isNew(name, type) }">
        <span v-if="isNew(name, type)" class="hidden-to-eyes">new: </span>{{ name }} <span class="muted">{{ type }}</span></li></ul>
      <span v-if="gone.length" class="muted small">without {{ gone.join(", ") }}</span></div>`,
  props: { name: String, columns: Array, before: Array },
  computed: {
    had() { return new Map(this.before); },
    gone() { const now = new Set(this.columns.map(([name]) => name)); return this.before.map(([name]) => name).filter((name) => !now.has(name)); },
    title() { const many = this.columns.length; return `${this.name}: ${many} ${many === 1 ? "column" : "columns"}`; },
  },
  methods: { isNew(name, type) { return this.had.get(name) !== type; } },
};
