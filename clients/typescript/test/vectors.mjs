// node test/vectors.mjs vectors.json: reproduces every vector, and prints reports of its own as JSON, to be opened.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
globalThis.crypto ??= webcrypto;
const { body, bytesOf, canonical, coin, hex, roundFrom, seal } = await import("../dist/wire.js");
const { taskFrom } = await import("../dist/task.js");
const { deltaOfOne, isUnderstated } = await import("../dist/policy.js");

const v = JSON.parse(readFileSync(process.argv[2], "utf8"));
assert.equal(canonical(v.task), v.canonical);
const task = await taskFrom(v.canonical);
assert.equal(hex(task.id), v.task_id);
assert.equal(String(task.coinLimit), v.coin_limit);
const round = await roundFrom(bytesOf(v.descriptor));
assert.equal(hex(round.hash), v.descriptor_hash);
assert.equal(hex(round.task), v.task_id);
for (const one of v.coins) {
  const found = await coin(bytesOf(v.device_secret), task.id, one.round, one.answer);
  assert.equal(String(found), one.coin);
  assert.equal(found < task.coinLimit, one.keep);
}
for (const one of v.bodies) assert.equal(hex(body(one.value)), one.body);

// What is not known here is refused.
const changed = (more) => canonical({ ...v.task, ...more });
for (const odd of [
  changed({ method: "noise" }), changed({ method: "shuffle" }), changed({ attestation: "test" }),
  changed({ version: 2 }), changed({ levels: 1 }), changed({ question: { ...v.task.question, levels: 1 } }),
  changed({ terms: { ...v.task.terms, rate: [1 << 30, 1 << 31] } }),
  changed({ terms: { ...v.task.terms, threshold: 2 ** 50 } }),
  changed({ question: { ...v.task.question, answers: 2 ** 40 } }), `${v.canonical} `, "{}", "null",
]) await assert.rejects(taskFrom(odd), undefined, odd);
await assert.rejects(roundFrom(bytesOf(v.descriptor).slice(1)));

// The price of this task, as Python certified it, and half of what it must be.
assert.ok(deltaOfOne(0.25, 14, 1) > 1e-7 && deltaOfOne(0.25, 14, 1) < 2e-6);
const priced = { rate: 0.25, threshold: 14, rho: 0.06, delta: 5e-7, answers: 1, rounds: 3 };
assert.ok(!isUnderstated(priced));
for (const less of [{ threshold: 8 }, { rate: 0.4 }, { rho: 0.001 }, { delta: 1e-9 }])
  assert.ok(isUnderstated({ ...priced, ...less }), JSON.stringify(less));

const reports = [];
for (const [i, { value }] of v.bodies.entries())
  reports.push({ value, id: hex(new Uint8Array(16).fill(i)), report: hex(await seal(round, new Uint8Array(16).fill(i), body(value))) });
console.log(JSON.stringify(reports));
