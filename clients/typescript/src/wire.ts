// The bytes of a fleet, version 1: as `headcount.fleet.wire` has them, checked against the same vectors.
import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";

export type Bytes = Uint8Array<ArrayBuffer>;
const text = new TextEncoder();
export const PAD = 256;
const DESCRIPTOR = 90, HEAD = 4, ID = 16, VERSION = 1;

export const utf8 = (said: string): Bytes => text.encode(said) as Bytes;
export const hex = (bytes: Uint8Array): string => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

export function bytesOf(digits: string): Bytes {
  if (!/^([0-9a-f]{2})*$/.test(digits)) throw new Error("these are no hexadecimal digits");
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function join(...parts: Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

const sha256 = async (bytes: Bytes): Promise<Bytes> => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

async function hmac(secret: Bytes, said: Bytes): Promise<Bytes> {
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, said));
}

function numbers(...pairs: [number, number][]): Bytes {
  return join(...pairs.map(([value, size]) => {
    const one = new DataView(new ArrayBuffer(8));
    one.setBigUint64(0, BigInt(value));
    return new Uint8Array(one.buffer).subarray(8 - size);
  }));
}

/** The one spelling of a value (RFC 8785, for texts and whole numbers): what is hashed. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || (typeof value === "number" && !Number.isSafeInteger(value))) throw new Error("no such value");
  if (typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(",")}}`;
}

export const taskId = (spelled: string): Promise<Bytes> => sha256(join(utf8("headcount/1 task\0"), utf8(spelled)));

/** One round of a task: when it is open, and the key that answers are sealed for. */
export interface Round { spelled: Bytes; hash: Bytes; task: Bytes; number: number; opens: number; closes: number; publicKey: Bytes }

export async function roundFrom(spelled: Bytes): Promise<Round> {
  if (spelled.length !== DESCRIPTOR) throw new Error("a round is described in 90 bytes");
  const view = new DataView(spelled.buffer, spelled.byteOffset);
  const whole = (at: number) => Number(view.getBigUint64(at));
  const [number, opens, closes] = [whole(32), whole(40), whole(48)];
  const isOne = [number, opens, closes].every(Number.isSafeInteger) && opens < closes;
  if (!isOne || view.getUint16(88) !== PAD) throw new Error("these bytes describe no round of this version");
  const hash = await sha256(join(utf8("headcount/1 round\0"), spelled));
  return { spelled, hash, task: spelled.slice(0, 32), number, opens, closes, publicKey: spelled.slice(56, 88) };
}

/** The one coin of a device for one answer in one round: 60 bits. It is worked out, never drawn. */
export async function coin(secret: Bytes, task: Bytes, round: number, answer: number): Promise<bigint> {
  const mac = await hmac(secret, join(utf8("headcount/1 coin\0"), task, numbers([round, 8], [answer, 2])));
  return new DataView(mac.buffer).getBigUint64(0) >> 4n;
}

/** The name of a report, which stays the same however often it is sealed. */
export async function reportId(secret: Bytes, round: Round, answer: number): Promise<Bytes> {
  return (await hmac(secret, join(utf8("headcount/1 id\0"), round.hash, numbers([answer, 2])))).slice(0, ID);
}

/** What is sealed: an answer, or that there is none; of one length. */
export function body(value: string | null): Bytes {
  const raw = utf8(value ?? "");
  if (value === "" || raw.length > PAD - HEAD) throw new Error("an answer has 1 to 252 bytes");
  const found = new Uint8Array(PAD);
  found.set([VERSION, value === null ? 0 : 1, raw.length >> 8, raw.length & 255]);
  found.set(raw, HEAD);
  return found;
}

/** A report of a body, for the core of this round alone. */
export async function seal(round: Round, id: Bytes, opened: Bytes): Promise<Bytes> {
  const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() });
  const recipientPublicKey = await suite.kem.deserializePublicKey(round.publicKey.slice().buffer);
  const info = join(utf8("headcount/1 report\0"), round.hash, id).buffer;
  const { enc, ct } = await suite.seal({ recipientPublicKey, info }, opened.slice().buffer);
  return join(id, new Uint8Array(enc), new Uint8Array(ct));
}

/** Whether the holder of a key signed a round. */
export async function isSigned(key: string, round: Round, proof: Bytes): Promise<boolean> {
  const raw = bytesOf(key.replace(/^ed25519:/, ""));
  const known = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", known, proof, join(utf8("headcount/1 offer\0"), round.spelled));
}
