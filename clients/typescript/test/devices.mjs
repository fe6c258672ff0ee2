// node test/devices.mjs < asked.json: devices of this client, each with a folder of its own.
// asked: {relay, folder, owner, key, purpose, devices: [{token, says, runs, key, policy, silent, forgets}]}, all but the
// first two of a device where it differs; prints what each run said.
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
globalThis.crypto ??= webcrypto;
const { Device, Http, POLICY } = await import("../dist/index.js");
const { FileStore } = await import("../node/file_store.mjs");

const asked = JSON.parse(readFileSync(0, "utf8"));
const limits = { ...POLICY, maxEpsilon: 20, maxDelta: 0.1 };
const waiting = asked.devices.map((one, i) => ({ ...one, i }));
const found = [];
async function some() {
  for (let one = waiting.shift(); one; one = waiting.shift()) {
    const policy = { ...limits, keys: { [asked.owner]: [one.key ?? asked.key] }, ...one.policy };
    const device = new Device(new Http(asked.relay, one.token), new FileStore(`${asked.folder}/${one.i}`), policy);
    device.answers("top_app", () => one.says);
    if (one.forgets) await device.forget();
    if (!one.silent) await device.consent(asked.purpose);
    const runs = [];
    for (let n = 0; n < (one.runs ?? 1); n++) runs.push(await device.runOnce());
    found[one.i] = runs.map((ran) => ran.map(({ said }) => said));
  }
}
await Promise.all(Array.from({ length: 50 }, some));
console.log(JSON.stringify(found));
