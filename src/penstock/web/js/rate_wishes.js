// Rates that somebody is setting, by stream: each is sent once it rests, and until the server has taken it over,
// what the server says is not shown in its place.

const REST_MS = 300;
// A rate that the server refuses does not come back; what holds is shown again after so long.
const ECHO_MS = 2000;

export class RateWishes {
  // `rates` is the object that is drawn from; `send` gets a name and a rate.
  constructor(rates, send) {
    this.rates = rates;
    this.send = send;
    this.timers = new Map();
    this.sent = new Set();
  }
  set(name, rate) {
    this.rates[name] = Number(Math.max(rate, 0.1).toPrecision(6));
    this.sent.delete(name);
    this.after(REST_MS, name, () => {
      this.sent.add(name);
      this.after(ECHO_MS, name, () => this.drop(name));
      this.send(name, this.rates[name]);
    });
  }
  // What the server says a rate is.
  heard(name, rate) { if (this.sent.has(name) && this.rates[name] === rate) this.drop(name); }
  drop(name) {
    clearTimeout(this.timers.get(name));
    this.timers.delete(name);
    this.sent.delete(name);
    delete this.rates[name];
  }
  after(ms, name, done) {
    clearTimeout(this.timers.get(name));
    this.timers.set(name, setTimeout(done, ms));
  }
}
