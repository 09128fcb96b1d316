// All experiments under their papers: how many claims are held, when each was run, and the one that runs.

// How a claim's states are coloured, as levels of service are.
const STATES = [["held", "met"], ["not_held", "risk"], ["fitted", "none"]];

export default {
  template: `
    <div class="experiments">
      <section v-for="paper in papers" :key="paper.name" class="panel" :aria-label="paper.name">
        <div class="title"><h2>{{ paper.name }}</h2>
          <span class="muted small">claims: {{ paper.words }}</span></div>
        <ul>
          <li v-for="row in paper.rows" :key="row.id">
            <div class="what">
              <a :href="row.link">{{ row.title }}</a>
              <span class="muted small">{{ row.figure }} · {{ row.id }}</span>
            </div>
            <div class="claims">
              <span class="share" aria-hidden="true">
                <template v-for="[state, level] in states" :key="state">
                  <span v-if="row.tally[state]" :class="level" :style="{ flex: row.tally[state] }"></span></template></span>
              <span class="small">{{ row.words }}</span>
            </div>
            <div class="when">
              <template v-if="runs(row)">
                <progress :value="running.share ?? undefined" :aria-label="'Progress of ' + row.id"></progress>
                <span class="small muted">{{ running.words }}</span>
              </template>
              <template v-else>
                <span class="small muted">{{ row.when }}</span>
                <span v-if="row.trouble" class="small trouble">{{ row.trouble }}</span>
              </template>
            </div>
            <button v-if="runs(row)" type="button" class="button" :disabled="!running.mine"
              :title="running.mine ? '' : 'another team runs it'" :aria-label="'Cancel ' + row.id"
              @click="$emit('cancel', row.id)">Cancel</button>
            <button v-else type="button" class="button" :disabled="!!reason" :title="reason"
              :aria-label="'Run ' + row.id" @click="$emit('run', row.id)">Run</button>
          </li>
        </ul>
      </section>
    </div>`,
  props: { initial: Object, why: String },
  emits: ["run", "cancel"],
  data() { return { papers: [], running: null, missing: "", states: STATES }; },
  created() { this.take(this.initial); },
  computed: {
    reason() {
      if (this.why) return this.why;
      if (this.missing) return this.missing;
      return this.running ? `${this.running.id} runs, and one runs at a time` : "";
    },
  },
  methods: {
    runs(row) { return this.running?.id === row.id; },
    take(news) { Object.assign(this, news); },
  },
};
