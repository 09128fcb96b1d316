// Links to queries: a dozen of them, all on request, and a filter where there are more.

import { count } from "penstock-ui";

const SHOWN = 12;

export default {
  template: `
    <div class="query-links">
      <div v-if="queries.length > shown" class="line">
        <input class="input" type="search" v-model="filter" placeholder="Filter by name or state" aria-label="Filter these queries" />
        <span class="muted small" role="status">{{ said }}</span>
      </div>
      <ul><li v-for="one in listed" :key="one.name"><a :href="one.href">{{ one.name }}</a>
        <span v-if="one.state !== 'running'" class="tag" :class="{ bad: one.state === 'failed' }">{{ one.state }}</span></li></ul>
      <p v-if="!matching.length && filter" class="muted small">No query is like that.</p>
      <button v-if="matching.length > shown" type="button" class="button" :aria-expanded="String(all)" @click="all = !all">
        {{ all ? "Show " + shown : "Show all " + count(matching.length) }}</button>
    </div>`,
  data() { return { queries: [], filter: "", all: false, shown: SHOWN }; },
  computed: {
    matching() {
      const wanted = this.filter.trim().toLowerCase();
      return this.queries.filter((one) => `${one.name} ${one.state}`.toLowerCase().includes(wanted));
    },
    listed() { return this.all ? this.matching : this.matching.slice(0, SHOWN); },
    said() {
      const words = `${count(this.queries.length)} queries`;
      return this.filter ? `${count(this.matching.length)} of ${words}` : words;
    },
  },
  methods: {
    count,
    take(queries) { this.queries = queries; },
  },
};
