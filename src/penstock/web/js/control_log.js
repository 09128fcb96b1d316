// What happened and what control made of it, newest first; kinds can be left out.

import { count } from "penstock-ui";

const LOUD = ["steps", "rows", "estimates"];
const FOLDED = 100;

export default {
  template: `
    <div>
      <div class="line" role="group" aria-label="Kinds of events">
        <label v-for="kind in kinds" :key="kind" class="check"><input type="checkbox" :checked="!off[kind]" @change="off[kind] = !off[kind]" />
          <span>{{ kind }} <span class="muted">{{ count(counts[kind] ?? 0) }}</span></span></label>
        <input class="input" style="width: auto; flex: 1 1 160px; max-width: 300px" type="search" v-model="filter" placeholder="Filter by what is said" aria-label="Filter events" />
      </div>
      <p v-if="!shown.length" class="muted" style="margin-top: 12px">{{ Object.keys(counts).length ? "Nothing of these kinds happened. Tick others, or read more minutes." : unread }}</p>
      <ol class="events" aria-label="Events of control" tabindex="0" v-else><li v-for="(one, place) in shown" :key="place">
        <time class="number muted small">{{ clock(one[0]) }}</time><span class="tag" :class="{ bad: one[1] === 'failures' }">{{ one[1] }}</span><span>{{ one[2] }}</span></li></ol>
      <button v-if="matching.length > most && !all" type="button" class="button" @click="all = true">Show all {{ count(matching.length) }}</button>
    </div>`,
  props: { kinds: Array },
  data() {
    return { unread: "Read the log to see which step ran when and why, what was switched, and what failed.", sentences: [], counts: {}, filter: "", all: false, most: FOLDED, off: Object.fromEntries(LOUD.map((kind) => [kind, true])) };
  },
  computed: {
    matching() {
      const wanted = this.filter.trim().toLowerCase();
      return this.sentences.filter((one) => !this.off[one[1]] && (!wanted || one[2].toLowerCase().includes(wanted)));
    },
    shown() { return this.all ? this.matching : this.matching.slice(0, FOLDED); },
  },
  methods: {
    count,
    clock(at) {
      const time = new Date(at * 1000);
      return `${time.toLocaleTimeString("en-GB")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
    },
    take({ sentences, counts }) { this.unread = "Nothing happened then."; this.sentences = sentences; this.counts = counts; this.all = false; },
  },
};
