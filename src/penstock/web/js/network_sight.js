// Where one looks in the graph: its zoom and place, as methods of the component that draws it (`network.js`).

const LEAST = 0.02;
const MOST = 2.5;
// A scale at which texts can be read, and one from which on they are left out.
const READABLE = 0.75;
const SMALLEST = 0.62;
const FAR = 0.5;
const TINY = 0.2;
const TILE = 500;

export const SIGHT = {
  room() { const box = this.$refs.ground.getBoundingClientRect(); return { width: box.width, height: box.height }; },
  show() {
    const { x, y, k } = this.view;
    this.$refs.world.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    if (this.far !== k < FAR) this.far = k < FAR;
    if (this.tiny !== k < TINY) this.tiny = k < TINY;
    const { width, height } = this.room();
    const all = x >= -1 && y >= -1 && x + this.picture.width * k <= width + 1 && y + this.picture.height * k <= height + 1;
    if (this.partly === all) this.partly = !all;
    // A tile more on each side, so that little steps draw nothing anew.
    const tile = (at, by) => (Math.floor(at / TILE) + by) * TILE;
    const sight = [tile(-x / k, -1), tile(-y / k, -1), tile((width - x) / k, 2), tile((height - y) / k, 2)].join(" ");
    if (this.sight !== sight) this.sight = sight;
    const here = this.$refs.here;
    if (!here) return;
    for (const [name, value] of Object.entries({ x: -x / k, y: -y / k, width: width / k, height: height / k }))
      here.setAttribute(name, value.toFixed(0));
  },
  jump(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const { width, height } = this.room();
    const across = ((event.clientX - box.left) / box.width) * this.picture.width * this.view.k;
    const down = ((event.clientY - box.top) / box.height) * this.picture.height * this.view.k;
    this.move(width / 2 - across - this.view.x, height / 2 - down - this.view.y);
  },
  // All of it if it can be read so, otherwise its beginning.
  begin() {
    if (this.compact) {
      const across = Math.min(1, this.room().width / this.picture.width);
      const scale = across < SMALLEST ? READABLE : across;
      this.compactHeight = Math.max(90, Math.min(460, Math.ceil(this.picture.height * scale)));
      this.$nextTick(() => this.settle(this.readable()));
    } else this.settle(this.readable());
    this.fitted = true;
  },
  readable() {
    const whole = this.whole();
    return whole < SMALLEST ? READABLE : whole;
  },
  whole() {
    const { width, height } = this.room();
    return Math.max(LEAST, Math.min(1, width / this.picture.width, height / this.picture.height));
  },
  settle(k) {
    const { width, height } = this.room();
    const size = this.picture.height * k;
    const first = Math.min(...this.picture.nodes.filter((node) => node.kind === "source").map((node) => node.y * k));
    this.view = {
      x: Math.max(0, (width - this.picture.width * k) / 2),
      y: size <= height ? (height - size) / 2 : Math.min(0, Math.max(height - size, height / 2 - first)),
      k,
    };
    this.show();
  },
  fit() { this.settle(this.whole()); this.fitted = false; },
  zoom(factor, at) {
    const { width, height } = this.room();
    const [x, y] = at ?? [width / 2, height / 2];
    const k = Math.max(LEAST, Math.min(MOST, this.view.k * factor));
    const ratio = k / this.view.k;
    this.view = { x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio, k };
    this.fitted = false;
    this.show();
  },
  move(x, y) {
    this.view.x += x;
    this.view.y += y;
    this.fitted = false;
    this.show();
  },
  centre(node) {
    const { width, height } = this.room();
    const k = Math.max(this.view.k, READABLE + 0.1);
    const inside = (room, size, at) => (size <= room ? (room - size) / 2 : Math.max(room - size, Math.min(0, room / 2 - at)));
    this.view = {
      x: inside(width, this.picture.width * k, node.x * k), y: inside(height, this.picture.height * k, node.y * k), k,
    };
    this.fitted = false;
    this.show();
  },
  // In sight, wherever it was.
  keep(node) {
    if (!node || !this.$refs.ground) return;
    const { width, height } = this.room();
    const [x, y] = [this.view.x + node.x * this.view.k, this.view.y + node.y * this.view.k];
    if (x < 60 || y < 30 || x > width - 60 || y > height - 30) this.centre(node);
  },
};
