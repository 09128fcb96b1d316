// What the graph says of its operators and queues in words: pure, from what is drawn and what was measured of it.

import { bytes, count, rate, seconds, share } from "./index.js";

const STATES = { running: "running now", ready: "rows wait", suspended: "nothing to do", stopped: "stopped" };

export function cut(text, letters) {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

// In a box's corner: whether it runs, how many queries it serves, its units.
export function marks(node, reading) {
  const units = node.units.length ? `unit ${node.units.join(", ")}` : "";
  const shared = node.queries.length > 1 ? `×${node.queries.length}` : "";
  return [reading?.state === "running" ? "▶" : "", shared, units].filter(Boolean).join("  ");
}

export function figures(reading) {
  const parts = [reading.measured ? `${seconds(reading.cost_s)}/row` : "not measured yet"];
  if (reading.measured) parts.push(passing(reading.selectivity));
  if (reading.state_bytes) parts.push(bytes(reading.state_bytes));
  return parts.join(" · ");
}

function passing(selectivity) {
  if (selectivity > 1.005) return `×${count(selectivity)} rows`;
  return `${selectivity > 0 && selectivity < 0.001 ? "<0.1 %" : share(selectivity)} pass`;
}

// Of a stream and of results: how many rows a second.
export function aside(reading) {
  return reading?.rate === undefined ? "" : rate(reading.rate).replace("/s", " rows/s");
}

export function heading(node) {
  if (node.kind === "source") return `stream ${node.title}`;
  return node.kind === "sink" ? `results of ${node.title}` : node.title;
}

// As it is heard. Whether it runs just now changes all the time, and would be said all the time: the details have it.
export function heard(node, reading) {
  const shared = node.queries.length > 1 ? `, shared by ${node.queries.length} queries` : "";
  const unit = node.units.length ? `, unit ${node.units.join(" and ")}` : "";
  return `${heading(node)} ${node.text}${unit}${shared}${reading?.state === "stopped" ? ", stopped" : ""}`;
}

export function queued(reading) {
  if (!reading) return "queue";
  if (!reading.rows) return "nothing waits";
  return `${count(reading.rows)} rows wait, ${bytes(reading.bytes)}, the oldest for ${seconds(reading.oldest_s)}`;
}

// All that is known of an operator, as names and values.
export function facts(node, reading) {
  if (!reading) return [];
  const found = [];
  const add = (name, value) => found.push([name, value]);
  const error = (value) => (value === null || value === undefined ? "" : ` ± ${share(value)}`);
  const { state, measured, selectivity } = reading;
  if (state) add("state", STATES[state] ?? state);
  if (node.units.length) add(node.units.length > 1 ? "units" : "unit", node.units.join(", "));
  if (reading.partition) add("partition", reading.partition);
  if (reading.policy) add("policy", reading.policy);
  if (reading.rate !== undefined) add("rate", `${rate(reading.rate)} rows`.replace("/s rows", " rows/s"));
  if (reading.cost_s !== undefined)
    add("cost", measured ? `${seconds(reading.cost_s)} a row${error(reading.cost_error)}` : "not measured yet");
  if (reading.fixed_s !== undefined && measured) add("cost of a step", `${seconds(reading.fixed_s)} before its first row`);
  if (selectivity !== undefined)
    add("selectivity", `${selectivity > 1.005 ? `${count(selectivity)} rows for each` : share(selectivity)}${error(reading.selectivity_error)}`);
  if (reading.waiting_rows !== undefined) add("waiting", `${count(reading.waiting_rows)} rows, ${bytes(reading.waiting_bytes)}`);
  if (reading.state_bytes !== undefined) add("remembers", reading.state_bytes ? bytes(reading.state_bytes) : "nothing");
  if (reading.in_bytes) add("size of a row", `${bytes(reading.in_bytes)} in, ${bytes(reading.out_bytes)} out`);
  return found;
}
