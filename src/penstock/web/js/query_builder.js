// A query out of operators: streams are picked, steps added and filled in; the server says what each step makes.

import { keep, kept, pieces, wordsOf } from "penstock-ui/sql_text.js";
import { ConditionList, Makes, WindowForm, conditions, isNumber, windowOf } from "penstock-ui/step_forms.js";

const PAUSE_MS = 300;
const KINDS = {
  select: { title: "Select", what: "the rows for which something is true", name: "selected" },
  project: { title: "Project", what: "fewer columns, or computed ones", name: "projected" },
  join: { title: "Join", what: "rows of two streams that belong together", name: "joined" },
  aggregate: { title: "Aggregate", what: "counts, sums and means of groups, within windows", name: "grouped" },
  split: { title: "Split", what: "several streams of one, by conditions", name: "part" },
  union: { title: "Union", what: "all rows of several streams", name: "merged" },
};
const FUNCTIONS = ["count", "count distinct", "sum", "avg", "min", "max", "stddev", "first", "last"];
const HOW = { inner: "pairs only", left: "and rows of the first without one", right: "and rows of the second without one", full: "and rows of both without one" };
const plain = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``);

export default {
  components: { ConditionList, WindowForm, Makes },
  template: `
    <div class="builder">
      <div v-if="!steps.length" class="stack">
        <p v-if="!relations.length" class="muted">There is no stream yet. <a href="/register">Register a stream</a> first.</p>
        <template v-else><p>Begin with a stream. Steps that are added read it, or each other.</p>
          <ul class="picks"><li v-for="one in streams" :key="one.name"><button type="button" class="pick" @click="begin(one.name)">
            <strong>{{ one.name }}</strong><span class="muted small">{{ one.columns.map(([name, type]) => name + " " + type).join(", ") }}</span></button></li></ul></template>
      </div>
      <section v-for="(step, place) in steps" :key="step.uid" class="step" :class="{ bad: problemOf(place) }" :aria-label="'Step ' + (place + 1) + ': ' + kinds[step.kind].title">
        <datalist :id="step.uid"><option v-for="[name, type] in columnsInto(place)" :value="name">{{ type }}</option></datalist>
        <div class="step-head">
          <span class="number" aria-hidden="true">{{ place + 1 }}</span>
          <h3>{{ kinds[step.kind].title }}</h3>
          <label v-if="step.kind !== 'split'" class="line"><span class="muted small">called</span>
            <input class="input name" :value="step.name" autocomplete="off" spellcheck="false" :aria-label="'Name of step ' + (place + 1)" @input="rename(step, step.name, $event.target.value)" /></label>
          <button type="button" class="button quiet" :aria-label="'Remove step ' + (place + 1)" @click="remove(place)">Remove</button>
        </div>
        <div class="step-body">
          <div v-if="step.kind !== 'union'" class="form-row">
            <label class="line"><span class="muted small">{{ step.kind === "join" ? "join" : "of" }}</span>
              <select class="input" v-model="step.of[0]" :aria-label="'What step ' + (place + 1) + ' reads'" @change="refit(step, place)">
                <option v-for="one in readable(place)" :value="one.name">{{ one.name }}</option></select></label>
            <template v-if="step.kind === 'join'"><label class="line"><span class="muted small">with</span>
              <select class="input" v-model="step.of[1]" :aria-label="'With what step ' + (place + 1) + ' joins'" @change="refit(step, place)">
                <option v-for="one in readable(place, true)" :value="one.name">{{ one.name }}{{ one.kind === "table" ? " (table)" : "" }}</option></select></label>
              <label class="line"><span class="muted small">keep</span><select class="input" v-model="step.how" :aria-label="'Kind of join of step ' + (place + 1)">
                <option v-for="(words, how) in hows(step)" :value="how">{{ words }}</option></select></label></template>
          </div>

          <ConditionList v-if="step.kind === 'select'" :value="step.conditions" :columns="columnsInto(place)" :list="step.uid" />

          <div v-if="step.kind === 'project'" class="stack tight">
            <fieldset class="plain checks"><legend class="hidden-to-eyes">Columns</legend>
              <label v-for="[name, type] in columnsInto(place)" class="check"><input type="checkbox" :checked="has(step, name)" @change="toggle(step, name, place)" />
                <span>{{ name }} <span class="muted small">{{ type }}</span></span></label></fieldset>
            <div v-for="(item, at) in computed(step, place)" :key="at" class="form-row">
              <input class="input grow mono" v-model="item.expression" :list="step.uid" placeholder="celsius * 9 / 5 + 32" autocomplete="off" spellcheck="false" :aria-label="'Expression ' + (at + 1)" />
              <label class="line"><span class="muted small">as</span><input class="input name" v-model="item.name" placeholder="fahrenheit" autocomplete="off" spellcheck="false" :aria-label="'Name of expression ' + (at + 1)" /></label>
              <button type="button" class="button quiet" :aria-label="'Remove expression ' + (at + 1)" @click="step.items.splice(step.items.indexOf(item), 1)">✕</button></div>
            <button type="button" class="button quiet add" @click="step.items.push({ expression: '', name: '' })">+ computed column</button>
          </div>

          <div v-if="step.kind === 'join'" class="stack tight">
            <div v-for="(pair, at) in step.pairs" :key="at" class="form-row"><span class="muted small">{{ at ? "and" : "where" }}</span>
              <select class="input" v-model="pair.left" :aria-label="'Column of the first, ' + (at + 1)"><option value="">choose</option><option v-for="[name, type] in columnsOf(step.of[0], place)" :value="name">{{ name }} · {{ type }}</option></select>
              <span aria-hidden="true">=</span>
              <select class="input" v-model="pair.right" :aria-label="'Column of the second, ' + (at + 1)"><option value="">choose</option><option v-for="[name, type] in columnsOf(step.of[1], place)" :value="name">{{ name }} · {{ type }}</option></select>
              <button v-if="step.pairs.length > 1" type="button" class="button quiet" :aria-label="'Remove pair ' + (at + 1)" @click="step.pairs.splice(at, 1)">✕</button></div>
            <div class="form-row"><button type="button" class="button quiet add" @click="step.pairs.push({ left: '', right: '' })">+ and another pair</button>
              <label class="grow line"><span class="muted small">and in SQL</span><input class="input grow mono" v-model="step.text" :placeholder="bound(step)" autocomplete="off" spellcheck="false" aria-label="Join condition in SQL" /></label></div>
            <template v-if="!isTable(step.of[1])"><div v-for="(of, side) in step.of" :key="side" class="form-row"><span class="muted small">window of {{ of }}</span>
              <WindowForm :value="step.windows[side]" :label="'Window of ' + (side ? 'the second' : 'the first')" :kinds="['none', 'range', 'rows']" :columns="columnsOf(of, place)" :time="timeOf(of, place)" /></div></template>
          </div>

          <div v-if="step.kind === 'aggregate'" class="stack tight">
            <fieldset class="plain checks"><legend class="muted small">for each</legend>
              <label v-for="[name, type] in columnsInto(place)" class="check"><input type="checkbox" :value="name" v-model="step.keys" /><span>{{ name }} <span class="muted small">{{ type }}</span></span></label></fieldset>
            <div v-for="(one, at) in step.measures" :key="at" class="form-row">
              <select class="input short" v-model="one.function" :aria-label="'Function ' + (at + 1)"><option v-for="name in functions" :value="name">{{ name }}</option></select>
              <span class="muted small">of</span>
              <input class="input mono" v-model="one.column" :list="step.uid" :placeholder="one.function === 'count' ? 'all rows' : 'a column'" autocomplete="off" spellcheck="false" :aria-label="'Column of function ' + (at + 1)" />
              <label class="line"><span class="muted small">as</span><input class="input name" v-model="one.name" autocomplete="off" spellcheck="false" :aria-label="'Name of function ' + (at + 1)" /></label>
              <button type="button" class="button quiet" :aria-label="'Remove function ' + (at + 1)" @click="step.measures.splice(at, 1)">✕</button></div>
            <button type="button" class="button quiet add" @click="measure(step, place)">+ function</button>
            <div class="form-row"><span class="muted small">window</span>
              <WindowForm :value="step.window" label="Window" :kinds="['tumbling', 'hopping', 'range', 'rows', 'session', 'none']" :columns="columnsInto(place)" :time="timeOf(step.of[0], place)" /></div>
            <div v-if="step.window.kind !== 'none'" class="form-row"><label class="line"><span class="muted small">its start as</span><input class="input name" v-model="step.begins" placeholder="–" autocomplete="off" spellcheck="false" aria-label="Name of the window's start" /></label>
              <label class="line"><span class="muted small">its end as</span><input class="input name" v-model="step.ends" placeholder="–" autocomplete="off" spellcheck="false" aria-label="Name of the window's end" /></label></div>
            <details :open="!!step.having.text || step.having.each.some((one) => one.column)"><summary>Only groups for which something is true (having)</summary>
              <ConditionList :value="step.having" :columns="groupColumns(step, place)" :list="step.uid" all="all groups" sql="count(*) > 10" /></details>
          </div>

          <div v-if="step.kind === 'split'" class="stack">
            <div v-for="(part, at) in step.parts" :key="at" class="part stack tight">
              <div class="form-row"><label class="line"><span class="muted small">into</span><input class="input name" :value="part.name" autocomplete="off" spellcheck="false" :aria-label="'Name of part ' + (at + 1)" @input="rename(part, part.name, $event.target.value)" /></label>
                <span class="muted small">rows where</span>
                <button v-if="step.parts.length > 1" type="button" class="button quiet" :aria-label="'Remove part ' + (at + 1)" @click="step.parts.splice(at, 1)">✕</button></div>
              <ConditionList :value="part.conditions" :columns="columnsInto(place)" :list="step.uid" all="choose a column" /></div>
            <div class="form-row"><button type="button" class="button quiet add" @click="part(step)">+ part</button>
              <label class="line"><span class="muted small">all others into</span><input class="input name" :value="step.rest" placeholder="–" autocomplete="off" spellcheck="false" aria-label="Name of the rest" @input="rename(step, step.rest, $event.target.value, 'rest')" /></label></div>
          </div>

          <div v-if="step.kind === 'union'" class="form-row">
            <template v-for="(of, at) in step.of" :key="at"><span v-if="at" class="muted small">and</span>
              <select class="input" v-model="step.of[at]" :aria-label="'Stream ' + (at + 1) + ' of the union'"><option v-for="one in readable(place)" :value="one.name">{{ one.name }}</option></select>
              <button v-if="step.of.length > 2" type="button" class="button quiet" :aria-label="'Remove stream ' + (at + 1)" @click="step.of.splice(at, 1)">✕</button></template>
            <button type="button" class="button quiet add" @click="step.of.push(readable(place)[0].name)">+ another</button>
          </div>
        </div>
        <p v-if="problemOf(place)" class="wrong" role="status">{{ problemOf(place) }}</p>
        <Makes v-for="one in madeBy(place)" :key="one.name" :name="one.name" :columns="one.columns" :before="columnsInto(place)" />
      </section>
      <div v-if="steps.length" class="stack tight">
        <div class="line" role="group" aria-label="Add a step"><span class="muted small">add</span>
          <button v-for="(one, kind) in kinds" :key="kind" type="button" class="button" :title="one.what" @click="add(kind)">{{ one.title }}</button></div>
        <div class="line"><label class="line"><span class="muted small">the result is</span><select class="input" v-model="result" aria-label="Result of the query">
            <option value="">{{ last || "the last step" }}</option><option v-for="name in outputsBefore(steps.length).filter((one) => one !== last)" :value="name">{{ name }}</option></select></label>
          <button type="button" class="button quiet" @click="clear">Begin anew</button></div>
      </div>
      <div v-if="steps.length" class="as-sql"><div class="line"><h3>As SQL</h3><button type="button" class="button" :disabled="!sql" @click="$emit('edit', sql)">Edit as SQL</button></div>
        <pre class="code sql-code" aria-label="SQL of the steps" tabindex="0"><span v-for="one in coloured" :class="one.kind ? 'sql-' + one.kind : null">{{ one.text }}</span><span v-if="!sql" class="muted">-- complete the steps first</span></pre></div>
    </div>`,
  props: { keep: String, relations: Array, words: Object },
  emits: ["built", "edit"],
  data() {
    const found = kept(this.keep, { steps: [], result: "" });
    return { steps: found.steps, result: found.result, looks: [], sql: "", kinds: KINDS, functions: FUNCTIONS };
  },
  created() { this.number = 0; this.known = wordsOf(this.words); },
  mounted() { this.tell(); },
  beforeUnmount() { clearTimeout(this.timer); },
  watch: {
    steps: { deep: true, handler() { this.later(); } },
    result() { this.later(); },
  },
  computed: {
    streams() { return this.relations.filter((one) => one.kind !== "table"); },
    coloured() { return pieces(this.sql, this.known); },
    last() { return this.outputs(this.steps.at(-1))[0] ?? ""; },
  },
  methods: {
    // --- with the server ---
    later() {
      keep(this.keep, this.steps.length ? { steps: this.steps, result: this.result } : null);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.tell(), PAUSE_MS);
    },
    tell() {
      clearTimeout(this.timer);
      this.number += 1;
      const names = this.outputsBefore(this.steps.length);
      if (this.result && !names.includes(this.result)) this.result = "";
      this.$emit("built", { number: this.number, steps: this.steps.map(({ uid, ...step }) => step), result: this.result });
    },
    take({ number, looks, sql }) {
      if (number !== this.number) return;
      this.looks = looks;
      this.sql = sql;
    },
    // --- what there is ---
    outputs(step) {
      if (!step) return [];
      if (step.kind !== "split") return [step.name];
      return [...step.parts.map((one) => one.name), ...(step.rest ? [step.rest] : [])];
    },
    outputsBefore(place) { return this.steps.slice(0, place).flatMap((step) => this.outputs(step)).filter(Boolean); },
    readable(place, tables = false) {
      const steps = this.outputsBefore(place).reverse().map((name) => ({ name, kind: "step" }));
      return [...steps, ...this.relations.filter((one) => tables || one.kind !== "table")];
    },
    relation(name) { return this.relations.find((one) => one.name === name); },
    isTable(name) { return this.relation(name)?.kind === "table"; },
    madeBy(place) { return this.looks[place]?.made ?? []; },
    made(name, place) { return this.looks.slice(0, place).flatMap((one) => one.made).find((one) => one.name === name) ?? this.relation(name); },
    columnsOf(name, place) { return this.made(name, place)?.columns ?? []; },
    timeOf(name, place) { return this.made(name, place)?.time ?? ""; },
    columnsInto(place) { return this.columnsOf(this.steps[place].of[0], place); },
    problemOf(place) { return this.looks[place]?.problem ?? ""; },
    groupColumns(step, place) {
      const made = new Map(this.madeBy(place).flatMap((one) => one.columns));
      const into = new Map(this.columnsInto(place));
      return [...step.keys.map((name) => [name, into.get(name) ?? ""]), ...step.measures.filter((one) => one.name).map((one) => [one.name, made.get(one.name) ?? "bigint"])];
    },
    hows(step) { return this.isTable(step.of[1]) ? { inner: HOW.inner, left: HOW.left } : HOW; },
    bound(step) { return this.isTable(step.of[1]) ? `${step.of[1]}.floor > 1` : `${step.of[1]}.t BETWEEN ${step.of[0]}.t - INTERVAL 5 MINUTES AND ${step.of[0]}.t`; },
    // --- steps ---
    free(name) {
      const taken = new Set([...this.outputsBefore(this.steps.length), ...this.relations.map((one) => one.name)].map((one) => one.toLowerCase()));
      let found = name;
      for (let number = 2; taken.has(found); number += 1) found = `${name}${number}`;
      return found;
    },
    begin(stream) { this.steps.push(this.step("select", stream)); this.focusLast(); },
    add(kind) { this.steps.push(this.step(kind, this.last || this.streams[0].name)); this.focusLast(); },
    focusLast() { this.$nextTick(() => this.$el.querySelector(".step:last-of-type .step-body select, .step:last-of-type .step-body input")?.focus()); },
    step(kind, of) {
      const place = this.steps.length;
      const base = { uid: `step-${Date.now().toString(36)}-${place}`, kind, name: this.free(KINDS[kind].name), of: [of] };
      const columns = this.columnsOf(of, place);
      switch (kind) {
        case "select": return { ...base, conditions: conditions() };
        case "project": return { ...base, items: columns.map(([name]) => ({ expression: plain(name), name: "" })) };
        case "join": return this.paired({ ...base, of: [of, this.other(of)], how: "inner", pairs: [], text: "", windows: [windowOf("range"), windowOf("range")] }, place);
        case "aggregate": return { ...base, keys: columns.filter(([, type]) => type === "string").map(([name]) => name).slice(0, 1), measures: [{ function: "count", column: "", name: "rows_seen" }], window: { ...windowOf("tumbling"), time: this.timeOf(of, place) ? "" : columns.find(([, type]) => /^timestamp/.test(type))?.[0] ?? "" }, begins: "", ends: "until", having: conditions() };
        case "split": return { ...base, parts: [{ name: this.free("part"), conditions: conditions() }], rest: this.free("others") };
        default: return { ...base, of: [of, this.other(of, "table")] };
      }
    },
    // What has not been read yet, and has a column in common, is probably what is to be put together with it.
    other(name, but = "") {
      const read = new Set([name, ...this.steps.flatMap((step) => step.of)]);
      const columns = new Set(this.columnsOf(name, this.steps.length).map(([one]) => one));
      const found = this.readable(this.steps.length, true).filter((one) => one.kind !== but && one.name !== name);
      const common = (one) => this.columnsOf(one.name, this.steps.length).filter(([column, type]) => columns.has(column) && !/^timestamp/.test(type)).length;
      found.sort((a, b) => read.has(a.name) - read.has(b.name) || common(b) - common(a));
      return found[0]?.name ?? name;
    },
    // Columns of one name that are no time are probably what is meant.
    paired(step, place) {
      const right = new Map(this.columnsOf(step.of[1], place));
      const same = this.columnsOf(step.of[0], place).find(([name, type]) => right.get(name) === type && !/^timestamp|^double|^float/.test(type));
      step.pairs = [{ left: same?.[0] ?? "", right: same?.[0] ?? "" }];
      if (this.isTable(step.of[1])) { step.windows = [windowOf(), windowOf()]; if (!(step.how in this.hows(step))) step.how = "inner"; }
      else if (step.windows.every((one) => one.kind === "none") && !step.text) step.windows = [windowOf("range"), windowOf("range")];
      return step;
    },
    refit(step, place) {
      const columns = new Map(this.columnsInto(place));
      if (step.kind === "join") this.paired(step, place);
      if (step.kind === "project") step.items = [...columns.keys()].map((name) => ({ expression: plain(name), name: "" }));
      if (step.kind === "aggregate") step.keys = step.keys.filter((name) => columns.has(name));
    },
    // Who reads a step by its name goes on reading it under another.
    rename(what, before, now, key = "name") {
      what[key] = now;
      if (before) for (const step of this.steps) step.of = step.of.map((one) => (one === before ? now : one));
      if (this.result === before) this.result = now;
    },
    remove(place) {
      const [gone] = this.steps.splice(place, 1);
      const names = new Set(this.outputs(gone));
      for (const step of this.steps) step.of = step.of.map((one) => (names.has(one) ? gone.of[0] : one));
      this.looks.splice(place, 1);
    },
    clear() { this.steps = []; this.result = ""; this.looks = []; this.sql = ""; },
    // --- their parts ---
    has(step, name) { return step.items.some((one) => one.expression === plain(name) && !one.name); },
    toggle(step, name, place) {
      const chosen = new Set(step.items.filter((one) => !one.name).map((one) => one.expression));
      const expression = plain(name);
      if (chosen.has(expression)) chosen.delete(expression); else chosen.add(expression);
      const order = this.columnsInto(place).map(([one]) => plain(one));
      const rest = step.items.filter((one) => one.name || !order.includes(one.expression));
      step.items = [...order.filter((one) => chosen.has(one)).map((one) => ({ expression: one, name: "" })), ...rest];
    },
    computed(step, place) {
      const names = new Set(this.columnsInto(place).map(([name]) => plain(name)));
      return step.items.filter((one) => one.name || !names.has(one.expression));
    },
    measure(step, place) {
      const number = this.columnsInto(place).find(([, type]) => isNumber(type))?.[0] ?? "";
      step.measures.push(number ? { function: "avg", column: plain(number), name: `avg_${number}`.replace(/\W/g, "_") } : { function: "count", column: "", name: "rows_seen" });
    },
    part(step) { step.parts.push({ name: this.free("part"), conditions: conditions() }); },
  },
};
