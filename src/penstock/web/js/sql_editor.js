// A SQL editor: colours, completion by the server, and what is wrong under its place.

import * as CM from "nicegui-codemirror";
import { colours, keep, kept, wordsOf } from "penstock-ui/sql_text.js";

const PAUSE_MS = 400;
const TYPES = { relation: "class", query: "namespace", column: "property", function: "function", keyword: "keyword" };

const wrong = CM.StateEffect.define();

class Message extends CM.WidgetType {
  constructor(column, text) { super(); this.column = column; this.text = text; }
  eq(other) { return other.column === this.column && other.text === this.text; }
  toDOM() {
    const line = document.createElement("div");
    line.className = "cm-wrong-message";
    const caret = document.createElement("span");
    caret.setAttribute("aria-hidden", "true");
    caret.textContent = `${" ".repeat(this.column)}^ `;
    line.append(caret, this.text);
    return line;
  }
}

// What is wrong stays where it is while the text around it changes, until the server has looked again.
const problem = CM.StateField.define({
  create() { return CM.Decoration.none; },
  update(marks, transaction) {
    let found = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(wrong)) found = effect.value ? marksOf(transaction.state.doc, effect.value) : CM.Decoration.none;
    }
    return found;
  },
  provide: (field) => CM.EditorView.decorations.from(field),
});

function marksOf(doc, { line, column, length, message }) {
  const at = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
  const from = Math.min(at.from + Math.max((column ?? 1) - 1, 0), at.to);
  const to = Math.min(from + Math.max(length ?? 1, 1), at.to);
  const marks = [];
  if (to > from) marks.push(CM.Decoration.mark({ class: "cm-wrong" }).range(from, to));
  marks.push(CM.Decoration.widget({ widget: new Message(from - at.from, message), block: true, side: 1 }).range(at.to));
  return CM.Decoration.set(marks, true);
}

function coloured(words) {
  const marks = (view) => CM.Decoration.set(
    colours(view.state.doc.toString(), words).map(([from, to, kind]) => CM.Decoration.mark({ class: `sql-${kind}` }).range(from, to)));
  return CM.ViewPlugin.fromClass(class {
    constructor(view) { this.decorations = marks(view); }
    update(change) { if (change.docChanged) this.decorations = marks(change.view); }
  }, { decorations: (plugin) => plugin.decorations });
}

const LOOK = CM.EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--panel)", fontSize: "13.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--muted)", border: "none", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 12%, transparent)", color: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--accent) 16%, transparent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--met) 25%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "var(--round)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "15em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.75", marginLeft: "1em" },
  ".cm-completionIcon": { display: "none" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)" },
});

const PART_OF_A_WORD = /^[\w$]*$/;
// There is nothing to complete: a list would hide what is said of the text.
const isWhole = (word, options) => options.some((one) => one.label.toLowerCase() === word.toLowerCase());

export default {
  template: `
    <div class="sql-editor" :class="{ bad: !!said }">
      <div ref="place" class="sql-place"></div>
      <p :class="placed ? 'hidden-to-eyes' : 'sql-said'" role="status">{{ said }}</p>
    </div>`,
  props: { keep: String, initial: String, words: Object, label: String, hint: String },
  emits: ["written", "complete", "run"],
  data() { return { said: "", placed: false }; },
  created() { this.waiting = new Map(); this.asked = 0; this.timer = null; },
  mounted() {
    const words = wordsOf(this.words);
    // The same each time it is asked for: another function would be another source, to be asked anew.
    const language = [{ autocomplete: (context) => this.complete(context), commentTokens: { line: "--" } }];
    const keys = CM.keymap.of([{ key: "Mod-Enter", run: () => { this.$emit("run"); return true; } }]);
    this.view = new CM.EditorView({
      doc: kept(this.keep, this.initial ?? ""),
      parent: this.$refs.place,
      extensions: [
        CM.Prec.highest(keys),
        CM.basicSetup,
        CM.EditorView.lineWrapping,
        CM.EditorState.languageData.of(() => language),
        coloured(words),
        problem,
        LOOK,
        CM.placeholder(this.hint ?? ""),
        CM.EditorView.contentAttributes.of({ "aria-label": this.label, "aria-multiline": "true", spellcheck: "false" }),
        CM.EditorView.updateListener.of((change) => { if (change.docChanged) this.changed(); }),
      ],
    });
    this.tell();
  },
  beforeUnmount() { clearTimeout(this.timer); this.view?.destroy(); },
  methods: {
    text() { return this.view.state.doc.toString(); },
    changed() {
      keep(this.keep, this.text() || null);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.tell(), PAUSE_MS);
    },
    tell() { clearTimeout(this.timer); this.$emit("written", this.text()); },
    setText(text) {
      this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, effects: wrong.of(null) });
      this.tell();
    },
    focus() { this.view.focus(); },
    // What the server says of a text; another one has been written by now if it is not this.
    judge(text, found) {
      if (text !== this.text()) return;
      const placed = found?.line ? found : null;
      this.placed = !!placed;
      this.said = placed ? `Line ${placed.line}, column ${placed.column}: ${placed.message}` : (found?.message ?? "");
      this.view.dispatch({ effects: wrong.of(placed) });
    },
    complete(context) {
      const word = context.matchBefore(/[\w$]*/);
      const before = context.state.sliceDoc(Math.max(0, word.from - 12), word.from);
      if (!context.explicit && word.from === word.to && !/(\.|\b(?:from|join)\s)$/i.test(before)) return null;
      const number = ++this.asked;
      return new Promise((resolve) => {
        this.waiting.set(number, (options) => resolve(!context.explicit && isWhole(word.text, options) ? null : {
          from: word.from, options, validFor: (text) => PART_OF_A_WORD.test(text) && !isWhole(text, options),
        }));
        context.addEventListener?.("abort", () => { this.waiting.delete(number); resolve(null); });
        this.$emit("complete", { number, text: this.text(), cursor: context.pos });
      });
    },
    suggest(number, found) {
      const answer = this.waiting.get(number);
      this.waiting.delete(number);
      answer?.(found.map((one, place) => ({
        label: one.text, detail: one.detail, type: TYPES[one.kind], apply: one.apply, boost: 50 - Math.min(place, 100),
      })));
    },
  },
};
