// A file of this computer, sent in parts to where the page expects it.

import { bytes } from "penstock-ui";

export default {
  template: `
    <div class="file-picker" :class="{ over }" @dragover.prevent="over = !disabled" @dragleave="over = false" @drop.prevent="drop">
      <label class="field"><span class="label">{{ label }}</span>
        <input type="file" class="input" :accept="accept" :disabled="disabled || sending" @change="send($event.target.files[0])" />
        <span class="hint">{{ hint }}</span></label>
      <div v-if="sending" class="line"><progress :value="done" :max="size" aria-label="Sent"></progress>
        <span class="small number">{{ bytes(done) }} of {{ bytes(size) }}</span></div>
      <p v-if="wrong" class="wrong" role="alert">{{ wrong }}</p>
    </div>`,
  props: { label: String, hint: String, accept: String, target: String, part: Number, most: Number, disabled: Boolean },
  emits: ["sent"],
  data() { return { over: false, sending: false, done: 0, size: 0, wrong: "" }; },
  methods: {
    bytes,
    drop(event) {
      this.over = false;
      if (!this.disabled && !this.sending) this.send(event.dataTransfer.files[0]);
    },
    async send(file) {
      if (!file) return;
      this.wrong = "";
      if (file.size === 0) { this.wrong = "the file is empty"; return; }
      if (file.size > this.most) {
        this.wrong = `the file has ${bytes(file.size)}, and up to ${bytes(this.most)} can be sent from here`;
        return;
      }
      [this.sending, this.done, this.size] = [true, 0, file.size];
      try {
        for (let at = 0; at < file.size; at += this.part) {
          const answer = await fetch(`${this.target}?offset=${at}`, { method: "PUT", body: file.slice(at, at + this.part) });
          if (!answer.ok) {
            const told = await answer.json().catch(() => ({}));
            this.wrong = told.detail ?? "the file did not arrive; try again";
            return;
          }
          this.done = Math.min(file.size, at + this.part);
        }
        this.$emit("sent", { name: file.name, size: file.size });
      } catch {
        this.wrong = "the server cannot be reached; try again";
      } finally {
        this.sending = false;
      }
    },
  },
};
