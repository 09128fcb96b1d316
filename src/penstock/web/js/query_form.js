// Under which name a query runs, what it asks for, when it starts and stops. All of it stays in the browser.

import { keep, kept } from "penstock-ui/sql_text.js";

const PAUSE_MS = 400;
const EMPTY = {
  name: "", one_time: false, latency: "", latency_unit: "s", tolerance: "", memory: "", memory_unit: "MB", freshness: "",
  throughput: "", weight: "", start: "now", start_at: "", start_in: "", start_in_unit: "min", start_back: "",
  start_back_unit: "min", stop: "never", stop_at: "", stop_in: "", stop_in_unit: "h", on_error: "hold",
};
const STARTS = { now: "now", at: "at a time", in: "after a while", back: "now, with rows from before" };
const STOPS = { never: "when it is stopped", at: "at a time", in: "after it ran for" };
const ON_ERROR = { hold: "wait until somebody looks", skip: "leave the row out and go on" };
const SPANS = { s: "seconds", min: "minutes", h: "hours", d: "days" };

export default {
  template: `
    <form class="query-form" aria-label="The query" @submit.prevent="send">
      <div class="form-grid">
        <div class="field wide"><label class="label" :for="id + 'name'">Name</label>
          <input class="input" :id="id + 'name'" v-model="form.name" autocomplete="off" spellcheck="false" placeholder="hot_rooms"
            maxlength="128" :aria-invalid="wrong.name ? 'true' : 'false'" :aria-describedby="id + 'name-wrong'" />
          <span v-if="wrong.name" class="wrong" role="alert" :id="id + 'name-wrong'">{{ wrong.name }}</span></div>
        <fieldset class="field plain"><legend class="label">Runs</legend>
          <span class="segments">
            <button type="button" :aria-pressed="!form.one_time ? 'true' : 'false'" @click="form.one_time = false">continuously</button>
            <button type="button" :aria-pressed="form.one_time ? 'true' : 'false'" @click="form.one_time = true">one time</button></span>
          <span class="hint">{{ form.one_time ? "over the first full window, then it is gone" : "until it is stopped" }}</span></fieldset>
      </div>
      <fieldset class="plain"><legend>What it asks for</legend>
        <p class="muted small">All of it may be left empty. What is measured is shown beside it once the query runs.</p>
        <div class="form-grid">
          <div v-for="one in measures" :key="one.key" class="field">
            <label class="label" :for="id + one.key">{{ one.label }}</label>
            <span class="with-unit">
              <input class="input" :id="id + one.key" v-model="form[one.key]" inputmode="decimal" autocomplete="off" :placeholder="one.example"
                :aria-invalid="wrong[one.key] ? 'true' : 'false'" :aria-describedby="id + one.key + 'hint'" />
              <select v-if="one.units" class="input" v-model="form[one.key + '_unit']" :aria-label="'Unit of ' + one.label.toLowerCase()">
                <option v-for="(name, unit) in one.units" :value="unit">{{ name }}</option></select>
              <span v-else class="unit">{{ one.unit }}</span></span>
            <span v-if="wrong[one.key]" class="wrong" role="alert" :id="id + one.key + 'hint'">{{ wrong[one.key] }}</span>
            <span v-else class="hint" :id="id + one.key + 'hint'">{{ one.hint }}</span>
          </div>
        </div>
      </fieldset>
      <fieldset class="plain"><legend>When it runs</legend>
        <div class="form-grid">
          <div class="field"><label class="label" :for="id + 'start'">Starts</label>
            <select class="input" :id="id + 'start'" v-model="form.start"><option v-for="(name, key) in starts" :value="key">{{ name }}</option></select>
            <input v-if="form.start === 'at'" class="input" type="datetime-local" step="1" v-model="form.start_at" aria-label="Start time" />
            <span v-if="form.start === 'in' || form.start === 'back'" class="with-unit">
              <input class="input" v-model="form[startKey]" inputmode="decimal" :aria-label="form.start === 'in' ? 'Starts after' : 'With rows of the last'" placeholder="10" />
              <select class="input" v-model="form[startKey + '_unit']" aria-label="Unit of the start"><option v-for="(name, unit) in spans" :value="unit">{{ name }}</option></select></span>
            <span v-if="wrong.start" class="wrong" role="alert">{{ wrong.start }}</span>
            <span v-else-if="form.start === 'at'" class="hint">the time where you are{{ utc(form.start_at) }}</span>
            <span v-else-if="form.start === 'back'" class="hint">as far as the log still holds them</span></div>
          <div class="field"><label class="label" :for="id + 'stop'">Stops</label>
            <select class="input" :id="id + 'stop'" v-model="form.stop"><option v-for="(name, key) in stops" :value="key">{{ name }}</option></select>
            <input v-if="form.stop === 'at'" class="input" type="datetime-local" step="1" v-model="form.stop_at" aria-label="Stop time" />
            <span v-if="form.stop === 'in'" class="with-unit">
              <input class="input" v-model="form.stop_in" inputmode="decimal" aria-label="Stops after" placeholder="1" />
              <select class="input" v-model="form.stop_in_unit" aria-label="Unit of the stop"><option v-for="(name, unit) in spans" :value="unit">{{ name }}</option></select></span>
            <span v-if="wrong.stop" class="wrong" role="alert">{{ wrong.stop }}</span>
            <span v-else-if="form.stop === 'at'" class="hint">the time where you are{{ utc(form.stop_at) }}</span></div>
          <div class="field"><label class="label" :for="id + 'onerror'">If a row cannot be processed</label>
            <select class="input" :id="id + 'onerror'" v-model="form.on_error"><option v-for="(name, key) in onError" :value="key">{{ name }}</option></select>
            <span class="hint">{{ form.on_error === "skip" ? "it shares no operators then" : "a division by zero, a cast that fails" }}</span></div>
        </div>
      </fieldset>
      <div class="line">
        <button type="submit" class="button primary" :disabled="busy || !!forbidden" :title="forbidden">{{ busy ? "Starting …" : "Start the query" }}</button>
        <span class="muted small">{{ forbidden || "Ctrl+Enter in the editor does the same." }}</span>
      </div>
      <p v-if="said" class="notice bad" role="alert">{{ said }}</p>
    </form>`,
  props: { keep: String, forbidden: String },
  emits: ["changed", "send"],
  data() {
    return {
      form: { ...EMPTY, ...kept(this.keep, {}) }, wrong: {}, said: "", busy: false, id: `form${Math.random().toString(36).slice(2)}-`,
      starts: STARTS, stops: STOPS, onError: ON_ERROR, spans: SPANS,
      measures: [
        { key: "latency", label: "Latency", units: { ms: "ms", s: "s", min: "min" }, example: "2", hint: "from a row's arrival to its result, on average" },
        { key: "memory", label: "Memory", units: { kB: "kB", MB: "MB", GB: "GB" }, example: "64", hint: "the most that queues and windows may hold" },
        { key: "freshness", label: "Freshness", unit: "%", example: "95", hint: "of the time the result is up to date" },
        { key: "throughput", label: "Throughput", unit: "rows/s", example: "1000", hint: "results a second, at least" },
        { key: "tolerance", label: "Tolerance", unit: "%", example: "10", hint: "how far off is still fine, both ways" },
        { key: "weight", label: "Weight", unit: "of 1", example: "1", hint: "how much its freshness matters beside others'" },
      ],
    };
  },
  computed: { startKey() { return this.form.start === "in" ? "start_in" : "start_back"; } },
  watch: { form: { deep: true, handler() { keep(this.keep, this.form); this.wrong = {}; this.said = ""; this.later(); } } },
  mounted() { this.$emit("changed", this.sent()); },
  beforeUnmount() { clearTimeout(this.timer); },
  methods: {
    later() { clearTimeout(this.timer); this.timer = setTimeout(() => this.$emit("changed", this.sent()), PAUSE_MS); },
    // Times go out as the server has them, in UTC.
    sent() { return { ...this.form, start_at: this.moment(this.form.start_at), stop_at: this.moment(this.form.stop_at) }; },
    moment(local) {
      const at = local ? new Date(local) : null;
      return at && !Number.isNaN(at.getTime()) ? at.toISOString().slice(0, 19).replace("T", " ") : "";
    },
    utc(local) { const at = this.moment(local); return at ? `; in UTC ${at}` : ""; },
    send() { if (!this.busy && !this.forbidden) { this.busy = true; this.$emit("send", this.sent()); } },
    // Fields that a statement has filled in; its times are in UTC.
    fill(found) {
      const local = (utc) => { const at = new Date(`${utc.replace(" ", "T")}Z`); return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19); };
      for (const key of ["start_at", "stop_at"]) if (found[key]) found[key] = local(found[key]);
      Object.assign(this.form, EMPTY, found);
    },
    take({ wrong, said, done }) {
      this.busy = !!done;
      this.wrong = wrong ?? {};
      this.said = said ?? "";
      if (done) keep(this.keep, null);
      const first = Object.keys(this.wrong)[0];
      if (first) this.$nextTick(() => this.$el.querySelector("[aria-invalid=true]")?.focus());
    },
  },
};
