// The columns of a stream to be: names, types, what a generator puts into them, and the first values of a file.

export default {
  template: `
    <div class="column-editor scroll">
      <datalist :id="'types-' + listId"><option v-for="one in types" :value="one"></option></datalist>
      <table class="data" aria-label="Columns">
        <thead><tr><th v-if="fixed" scope="col">take</th><th scope="col">name</th><th scope="col">type</th><th v-if="made" scope="col">what it holds</th>
          <th v-if="fixed" scope="col">first values</th><th v-if="!fixed" scope="col"><span class="hidden-to-eyes">remove</span></th></tr></thead>
        <tbody><tr v-for="(one, place) in columns" :key="place">
          <td v-if="fixed"><input type="checkbox" v-model="one.taken" :aria-label="'Take column ' + (place + 1)" @change="tell" /></td>
          <td><input class="input" v-model="one.name" :aria-label="'Name of column ' + (place + 1)" :disabled="!one.taken" autocomplete="off" spellcheck="false" placeholder="name" @input="tell" /></td>
          <td><input class="input" v-model="one.type" :aria-label="'Type of column ' + (place + 1)" :disabled="!one.taken" :list="'types-' + listId" autocomplete="off" spellcheck="false" placeholder="STRING" @input="tell" /></td>
          <td v-if="made"><input class="input mono" v-model="one.holds" :aria-label="'What column ' + (place + 1) + ' holds'" autocomplete="off" spellcheck="false" :placeholder="hintFor(one)" @input="tell" /></td>
          <td v-if="fixed" class="small muted sample">{{ one.sample.join(" · ") }}</td>
          <td v-if="!fixed"><button type="button" class="button quiet" :aria-label="'Remove column ' + (one.name || place + 1)" @click="remove(place)">✕</button></td>
        </tr></tbody>
      </table>
      <button v-if="!fixed" type="button" class="button" style="margin-top: 8px" @click="add">Add a column</button>
    </div>`,
  props: { initial: Array, types: Array, hints: Object, made: Boolean, fixed: Boolean },
  emits: ["changed"],
  data() { return { columns: this.initial.map((one) => ({ holds: "", sample: [], taken: true, ...one })), listId: Math.random().toString(36).slice(2) }; },
  methods: {
    tell() {
      this.$emit("changed", this.columns.map((one) => ({ name: one.taken ? one.name : "", type: one.type, holds: one.holds, taken: one.taken })));
    },
    hintFor(one) { return this.hints[one.type.trim().toLowerCase().split(/[(<]/)[0]] ?? "constant(1)"; },
    add() {
      this.columns.push({ name: "", type: "STRING", holds: "", sample: [], taken: true });
      this.tell();
      this.$nextTick(() => [...this.$el.querySelectorAll("tbody tr:last-child input:not([type=checkbox])")][0]?.focus());
    },
    remove(place) { this.columns.splice(place, 1); this.tell(); },
  },
};
