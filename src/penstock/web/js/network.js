// A network of operators that one can move about in. It is drawn where the server says (`drawn`); here are zoom,
// search and details. Moving changes one attribute; a box is drawn again only if something of it has changed. One box
// is reached by Tab, all others from it by arrow keys, also those that are not in sight.

import { count } from "penstock-ui";
import { SIGHT } from "penstock-ui/network_sight.js";
import { aside, cut, facts, figures, heading, heard, marks, queued } from "penstock-ui/network_words.js";

// With more boxes than this, only those in sight are in the document.
const MANY = 150;
const KEYS = "up and down go through the operators, left and right along their rows, Enter opens details, Escape closes them; "
  + "with Shift, arrow keys move the drawing, plus and minus zoom, zero fits";

export default {
  template: `
    <section class="network" :class="{ compact, far, tiny, searching: !!wanted, picked: !!chosen }" :aria-label="label">
      <div class="network-tools">
        <label v-if="choices.length" class="line grow"><span class="muted small">show</span>
          <select class="input" :value="only" aria-label="Show one query or all" @change="choose($event.target.value)">
            <option value="">all queries</option>
            <option v-for="name in choices" :key="name" :value="name">{{ name }}</option></select></label>
        <input v-if="!compact" class="input grow" type="search" v-model="wanted" aria-label="Search the graph"
          placeholder="Search operators, streams, queries" @keydown.enter.prevent="step($event.shiftKey ? -1 : 1)" />
        <span v-if="!compact" class="muted small said" role="status">{{ said }}</span>
        <span class="segments" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom out" @click="zoom(0.8)">−</button>
          <button type="button" aria-label="Fit the whole graph" @click="fit()">Fit</button>
          <button type="button" aria-label="Zoom in" @click="zoom(1.25)">+</button>
        </span>
      </div>
      <div class="network-body">
        <div class="network-ground" ref="ground" @focusin="into" :style="{ height: compact ? compactHeight + 'px' : null }">
          <svg ref="svg" role="group" :aria-label="label + ': ' + keys"
            @wheel="wheel" @pointerdown="press" @pointermove="drag" @pointerup="release" @pointercancel="release"
            @keydown="key">
            <g ref="world">
              <g v-for="lane in picture.lanes" :key="'lane ' + lane.name" class="lane">
                <rect :x="0" :y="lane.y" :width="picture.width" :height="lane.h"></rect>
                <text :x="12" :y="lane.y + 18">partition {{ lane.name }}</text>
              </g>
              <path v-for="edge in direct" :key="'ground ' + edge.id" class="ground" :d="edge.path"
                :style="{ '--hue': edge.hue + 'deg' }"></path>
              <g v-for="node in nodes" :key="'ground ' + node.id">
                <rect v-for="(hue, place) in [...node.grounds].reverse()" :key="place" class="ground" rx="11"
                  :style="{ '--hue': hue + 'deg' }" v-bind="around(node, node.grounds.length - 1 - place)"></rect>
              </g>
              <path v-for="edge in edges" :key="edge.id" class="edge" v-memo="[edge, near(edge)]" :d="edge.path"
                :class="{ near: near(edge) }"></path>
              <g v-for="node in nodes" :key="node.id" class="node" role="button" :tabindex="node.id === stop ? 0 : -1" :data-id="node.id"
                v-memo="[node, readings[node.id], chosen === node.id, found.has(node.id), node.id === stop]"
                :class="classes(node)" :aria-label="heard(node, readings[node.id])" :aria-pressed="chosen === node.id ? 'true' : 'false'"
                :transform="'translate(' + (node.x - node.w / 2) + ' ' + (node.y - node.h / 2) + ')'">
                <title>{{ node.text || node.title }}</title>
                <rect class="lit" :x="-7" :y="-7" :width="node.w + 14" :height="node.h + 14" rx="13"></rect>
                <rect class="box" :width="node.w" :height="node.h" :rx="node.kind === 'source' || node.kind === 'sink' ? 22 : 7"></rect>
                <template v-if="node.kind === 'source' || node.kind === 'sink'">
                  <text class="name" :x="node.w / 2" :y="node.h / 2 + (aside(readings[node.id]) ? -2 : 5)">{{ cut(node.title, 26) }}</text>
                  <text class="big" :x="node.w / 2" :y="node.h / 2 + 9">{{ cut(node.title, 14) }}</text>
                  <text v-if="aside(readings[node.id])" class="aside" :x="node.w / 2" :y="node.h / 2 + 14">{{ aside(readings[node.id]) }}</text>
                </template>
                <template v-else>
                  <text class="kind" x="10" y="19">{{ node.title }}</text>
                  <text class="marks" :x="node.w - 10" y="19">{{ marks(node, readings[node.id]) }}</text>
                  <text v-for="(line, place) in node.lines" :key="place" class="text" x="10" :y="36 + 14 * place">{{ line }}</text>
                  <text v-if="readings[node.id]" class="figures" x="10" :y="node.h - 8">{{ figures(readings[node.id]) }}</text>
                  <text class="big" :x="node.w / 2" :y="node.h / 2 + 10">{{ node.title }}</text>
                </template>
              </g>
              <g v-for="edge in queued" :key="'queue ' + edge.id" class="queue"
                v-memo="[edge, readings[edge.id]]" :class="{ empty: !readings[edge.id]?.rows }"
                :transform="'translate(' + edge.queue[0] + ' ' + edge.queue[1] + ')'">
                <title>{{ queueWords(readings[edge.id]) }}</title>
                <rect x="-30" y="-9" :width="readings[edge.id] ? 60 : 19" height="18" rx="4"></rect>
                <path d="M-25 -5V5M-21 -5V5M-17 -5V5"></path>
                <text x="25" y="4">{{ readings[edge.id] ? count(readings[edge.id].rows) : "" }}</text>
              </g>
              <text v-for="edge in ports" :key="'port ' + edge.id" class="port" :x="edge.at[0]" :y="edge.at[1]">port {{ edge.port }}</text>
            </g>
          </svg>
          <svg v-if="!compact" v-show="partly" class="network-map" aria-hidden="true" :viewBox="'0 0 ' + picture.width + ' ' + picture.height" preserveAspectRatio="none"
            :style="mapSize" @pointerdown="jump" @pointermove="$event.buttons && jump($event)">
            <rect v-for="node in picture.nodes" :key="node.id" v-memo="[node, readings[node.id]?.state]" :x="node.x - node.w / 2" :y="node.y - node.h / 2"
              :width="node.w" :height="node.h" :class="[node.kind, { running: readings[node.id]?.state === 'running' }]"></rect>
            <rect class="here" ref="here"></rect>
          </svg>
        </div>
        <div v-if="node" class="network-details" role="region" aria-label="Details" tabindex="-1" ref="details" @keydown.escape="close">
          <div class="line"><h2 class="grow">{{ heading(node) }}</h2>
            <button type="button" class="button quiet" aria-label="Close the details" @click="close">✕</button></div>
          <p v-if="node.text" class="mono small text">{{ node.text }}</p>
          <dl v-if="facts.length" class="facts">
            <template v-for="[name, value] in facts" :key="name"><dt>{{ name }}</dt><dd class="number">{{ value }}</dd></template>
          </dl>
          <div v-if="node.fold"><button type="button" class="button" @click="open(node)">
            {{ node.folded ? "Show each query in the graph" : "Show the queries as one" }}</button></div>
          <a v-if="node.kind === 'source' && !compact" class="button" href="/streams">All streams</a>
          <template v-if="node.queries.length">
            <h3>{{ node.queries.length === 1 ? "Serves one query" : "Serves " + node.queries.length + " queries" }}</h3>
            <input v-if="node.queries.length > 12" class="input" type="search" v-model="among" aria-label="Filter these queries"
              placeholder="Filter" />
            <ul class="network-queries"><li v-for="name in listed" :key="name">
              <a :href="'/queries/' + encodeURIComponent(name)">{{ name }}</a></li></ul>
          </template>
        </div>
      </div>
    </section>`,
  props: { initial: Object, label: String, compact: Boolean, queries: Array, query: String, first: Object },
  emits: ["open", "choose", "seen"],
  data() {
    return {
      picture: this.initial, readings: { ...this.first }, choices: this.queries ?? [], only: this.query ?? "",
      wanted: "", at: -1, chosen: "", among: "", far: false, tiny: false, partly: false, sight: "", compactHeight: 200,
      stood: "", keys: KEYS,
    };
  },
  created() {
    this.view = { x: 0, y: 0, k: 1 };
    this.pointers = new Map();
    this.moved = false;
    this.opening = "";
    this.fitted = true;
  },
  mounted() {
    this.size = new ResizeObserver(() => { if (this.fitted) this.begin(); else this.show(); });
    this.size.observe(this.$refs.ground);
    this.seen = () => this.$emit("seen", document.visibilityState === "visible");
    document.addEventListener("visibilitychange", this.seen);
    this.begin();
  },
  unmounted() {
    this.size.disconnect();
    document.removeEventListener("visibilitychange", this.seen);
  },
  computed: {
    mapSize() {
      const scale = Math.min(190 / this.picture.width, 150 / this.picture.height);
      return { width: `${Math.max(30, this.picture.width * scale)}px`, height: `${this.picture.height * scale}px` };
    },
    of() { return new Map(this.picture.nodes.map((node) => [node.id, node])); },
    node() { return this.of.get(this.chosen); },
    // All boxes column by column, and the one where the keyboard is: it stays in the document wherever one looks.
    order() { return this.picture.nodes.toSorted((a, b) => a.x - b.x || a.y - b.y); },
    stop() { return this.of.has(this.stood) ? this.stood : this.order[0]?.id; },
    area() { return this.picture.nodes.length > MANY && this.sight ? this.sight.split(" ").map(Number) : null; },
    nodes() {
      if (!this.area) return this.picture.nodes;
      const [left, top, right, bottom] = this.area;
      return this.picture.nodes.filter((node) => node.id === this.stop || node.x + node.w > left && node.x - node.w < right && node.y + node.h > top && node.y - node.h < bottom);
    },
    edges() {
      if (!this.area) return this.picture.edges;
      const [left, top, right, bottom] = this.area;
      return this.picture.edges.filter((edge) => edge.span[1] > top && edge.span[0] < bottom
        && this.of.get(edge.to).x > left && this.of.get(edge.from).x < right);
    },
    direct() { return this.edges.filter((edge) => edge.hue !== null); },
    queued() { return this.edges.filter((edge) => edge.queue); },
    ports() {
      return this.edges.filter((edge) => edge.port !== null).map((edge) => {
        const [x, y] = edge.path.match(/^M(-?[\d.]+) (-?[\d.]+)/).slice(1).map(Number);
        const end = edge.path.match(/ (-?[\d.]+)$/);
        return { id: edge.id, port: edge.port, at: [x + 8, y + (Number(end[1]) < y ? -6 : 14)] };
      });
    },
    matches() {
      const words = this.wanted.trim().toLowerCase();
      if (!words) return [];
      return this.picture.nodes
        .filter((node) => `${node.kind} ${node.title} ${node.text} ${node.queries.join(" ")}`.toLowerCase().includes(words))
        .sort((a, b) => (b.title.toLowerCase() === words) - (a.title.toLowerCase() === words) || a.x - b.x || a.y - b.y);
    },
    found() { return new Set(this.matches.map((node) => node.id)); },
    said() {
      if (this.wanted.trim()) {
        if (!this.matches.length) return "nothing found";
        return this.at < 0 ? `${this.matches.length} found` : `${this.at + 1} of ${this.matches.length}`;
      }
      const operators = this.picture.nodes.filter((node) => node.kind !== "source" && node.kind !== "sink").length;
      if (this.only) {
        const shared = this.picture.nodes.filter((node) => this.isShared(node)).length;
        return `${count(operators)} ${operators === 1 ? "operator" : "operators"}${shared ? `, ${shared === operators ? "all" : `${shared} of them`} shared` : ""}`;
      }
      const queries = new Set(this.picture.nodes.flatMap((node) => node.queries)).size;
      return `${count(operators)} ${operators === 1 ? "operator" : "operators"} for ${count(queries)} ${queries === 1 ? "query" : "queries"}`;
    },
    listed() {
      const words = this.among.trim().toLowerCase();
      return this.node.queries.filter((name) => name.toLowerCase().includes(words));
    },
    facts() { return facts(this.node, this.readings[this.node.id]); },
  },
  watch: {
    wanted() {
      this.at = -1;
      if (this.matches.length && this.wanted.trim().length > 1) this.step(1);
    },
    chosen() { this.among = ""; },
  },
  methods: {
    ...SIGHT,
    aside, count, cut, figures, heading, heard, marks, queueWords: queued,
    // From the server.
    draw(picture) {
      const sameShape = this.picture.nodes.length && picture.nodes.some((node) => this.of.has(node.id));
      this.picture = picture;
      const opened = this.of.get(this.opening);
      this.opening = "";
      if (opened) {
        this.chosen = opened.id;
        this.fitted = false;
        this.$nextTick(() => this.centre(opened));
        return;
      }
      if (!this.of.has(this.chosen)) this.chosen = "";
      this.$nextTick(() => (sameShape && !this.fitted ? this.show() : this.begin()));
    },
    offer(names, name) { this.choices = names; this.only = name; },
    take({ readings, gone }) {
      for (const id of gone ?? []) delete this.readings[id];
      Object.assign(this.readings, readings ?? {});
    },
    choose(name) {
      this.only = name;
      this.chosen = "";
      this.fitted = true;
      const here = new URL(window.location);
      if (name) here.searchParams.set("query", name);
      else here.searchParams.delete("query");
      window.history.replaceState(window.history.state, "", here);
      this.$emit("choose", name);
    },
    open(node) {
      this.opening = node.fold;
      this.$emit("open", node.fold);
    },
    classes(node) {
      const one = this.readings[node.id];
      return [node.kind, {
        shared: this.isShared(node), running: one?.state === "running",
        chosen: this.chosen === node.id, found: this.found.has(node.id),
      }];
    },
    isShared(node) { return node.queries.length > 1 && node.kind !== "source" && node.kind !== "sink"; },
    near(edge) { return !!this.chosen && (edge.from === this.chosen || edge.to === this.chosen); },
    around(node, place) {
      const pad = 6 + 4 * place;
      return { x: node.x - node.w / 2 - pad, y: node.y - node.h / 2 - pad, width: node.w + 2 * pad, height: node.h + 2 * pad };
    },
    step(by) {
      if (!this.matches.length) return;
      this.at = (this.at + by + this.matches.length) % this.matches.length;
      this.stood = this.matches[this.at].id;
      this.centre(this.matches[this.at]);
    },
    place(event) { const box = this.$refs.svg.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; },
    wheel(event) {
      if (this.compact && !event.ctrlKey) return;
      event.preventDefault();
      const by = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
      this.zoom(Math.exp(-Math.max(-120, Math.min(120, by)) * 0.0022), this.place(event));
    },
    press(event) {
      if (event.button > 0) return;
      this.pointers.set(event.pointerId, this.place(event));
      this.moved = false;
      this.pressed = event.target.closest?.("g.node")?.dataset.id ?? "";
      this.$refs.svg.setPointerCapture(event.pointerId);
    },
    drag(event) {
      const before = this.pointers.get(event.pointerId);
      if (!before) return;
      const now = this.place(event);
      if (!this.moved && Math.hypot(now[0] - before[0], now[1] - before[1]) < 4) return;
      this.moved = true;
      const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      if (others.length) {
        const [other] = others;
        const span = (at) => Math.max(1, Math.hypot(at[0] - other[0], at[1] - other[1]));
        this.zoom(span(now) / span(before), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
      } else this.move(now[0] - before[0], now[1] - before[1]);
      this.pointers.set(event.pointerId, now);
    },
    release(event) {
      if (!this.pointers.delete(event.pointerId) || this.moved || event.type !== "pointerup") return;
      this.pick(this.pressed);
    },
    pick(id) {
      this.chosen = this.chosen === id ? "" : id;
      this.fitted = false;
      if (this.chosen) setTimeout(() => this.keep(this.of.get(id)), 60);
    },
    close() {
      const id = this.chosen;
      this.chosen = "";
      this.go(id);
    },
    // The keyboard goes to a box, which comes into sight if it is not.
    go(id) {
      if (!id) return;
      this.stood = id;
      this.$nextTick(() => this.$refs.svg.querySelector(`g.node[data-id="${CSS.escape(id)}"]`)?.focus());
    },
    along(id, key) {
      const place = this.order.findIndex((node) => node.id === id);
      if (key === "ArrowUp" || key === "ArrowDown") return this.order[place + (key === "ArrowUp" ? -1 : 1)]?.id;
      if (key === "Home" || key === "End") return this.order.at(key === "Home" ? 0 : -1).id;
      const [near, other] = key === "ArrowRight" ? ["from", "to"] : ["to", "from"];
      const next = this.picture.edges.filter((edge) => edge[near] === id).map((edge) => this.of.get(edge[other]));
      const { y } = this.of.get(id);
      return next.sort((a, b) => Math.abs(a.y - y) - Math.abs(b.y - y))[0]?.id;
    },
    key(event) {
      const far = 60;
      const moves = { ArrowLeft: [far, 0], ArrowRight: [-far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const id = event.target.closest?.("g.node")?.dataset.id;
      if (event.key in moves && event.shiftKey) this.move(...moves[event.key]);
      else if (id && (event.key in moves || event.key === "Home" || event.key === "End")) this.go(this.along(id, event.key));
      else if (event.key === "+" || event.key === "=") this.zoom(1.25);
      else if (event.key === "-") this.zoom(0.8);
      else if (event.key === "0") this.fit();
      else if (event.key === "Escape" && this.chosen) this.close();
      else if (id && (event.key === "Enter" || event.key === " ")) {
        this.pick(id);
        if (this.chosen) this.$nextTick(() => this.$refs.details?.focus());
      } else return;
      event.preventDefault();
    },
    // Whoever comes with the keyboard sees where they are. Asked of the ground: a picture that is asked would be a stop
    // of Tab itself.
    into(event) {
      const node = this.of.get(event.target.closest?.("g.node")?.dataset.id);
      if (node) this.stood = node.id;
      if (!this.pointers.size) this.keep(node);
    },
  },
};
