// The other end of oblivious HTTP, of parts that are not ours: bhttp-js (RFC 9292) and @hpke/core (RFC 9180).
// Reads one JSON object per line, writes one per line. Only RFC 9458's own framing is written here.
import { createHmac, randomBytes, webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { BHttpDecoder, BHttpEncoder } from "bhttp-js";

const suite = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes128Gcm(),
});
const SECRET_BYTES = 16;
const NONCE_BYTES = 12;
const ENC_BYTES = 32;

const text = (string) => new TextEncoder().encode(string);
const join = (...parts) => new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part))));
const bytes = (base64) => new Uint8Array(Buffer.from(base64, "base64"));
const base64 = (array) => Buffer.from(array).toString("base64");
const hmac = (key, data) => createHmac("sha256", key).update(data).digest();
const expanded = (key, label, length) => hmac(key, join(text(label), [1])).subarray(0, length);
const info = (header) => join(text("message/bhttp request"), [0], header).buffer;

async function cipher(enc, secret, nonce, usage) {
  const prk = hmac(join(enc, nonce), new Uint8Array(secret));
  const key = await webcrypto.subtle.importKey("raw", expanded(prk, "key", 16), "AES-GCM", false, [usage]);
  return [{ name: "AES-GCM", iv: expanded(prk, "nonce", NONCE_BYTES) }, key];
}

let exchange;

const operations = {
  // As a client: a capsule to the first key of a list.
  async seal({ keys, method, url, headers, body, length }) {
    const config = bytes(keys).subarray(2);
    const header = join(config.subarray(0, 3), [0, 1, 0, 1]);
    const recipientPublicKey = await suite.kem.deserializePublicKey(config.slice(3, 3 + ENC_BYTES).buffer);
    const request = new Request(url, { method, headers, body: body ? bytes(body) : undefined });
    const encoded = await new BHttpEncoder().encodeRequest(request);
    const padded = join(encoded, new Uint8Array(Math.max(0, length - encoded.length)));
    const sender = await suite.createSenderContext({ recipientPublicKey, info: info(header) });
    const sealed = await sender.seal(padded.buffer);
    exchange = { enc: sender.enc, secret: await sender.export(text("message/bhttp response").buffer, SECRET_BYTES) };
    return { capsule: base64(join(header, new Uint8Array(sender.enc), new Uint8Array(sealed))) };
  },
  async open({ answer }) {
    const nonce = bytes(answer).subarray(0, SECRET_BYTES);
    const [algorithm, key] = await cipher(new Uint8Array(exchange.enc), exchange.secret, nonce, "decrypt");
    const opened = await webcrypto.subtle.decrypt(algorithm, key, bytes(answer).subarray(SECRET_BYTES));
    const response = new BHttpDecoder().decodeResponse(new Uint8Array(opened));
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: base64(await response.arrayBuffer()),
    };
  },
  // As a gateway: what came in a capsule, and a sealed answer to it.
  async answer({ privateKey, capsule, status, headers, body }) {
    const all = bytes(capsule);
    const header = all.slice(0, 7);
    const enc = all.slice(7, 7 + ENC_BYTES);
    const recipientKey = await suite.kem.importKey("raw", bytes(privateKey).buffer, false);
    const recipient = await suite.createRecipientContext({ recipientKey, enc: enc.buffer, info: info(header) });
    const opened = await recipient.open(all.slice(7 + ENC_BYTES).buffer);
    const request = new BHttpDecoder().decodeRequest(new Uint8Array(opened));
    const secret = await recipient.export(text("message/bhttp response").buffer, SECRET_BYTES);
    const nonce = randomBytes(SECRET_BYTES);
    const [algorithm, key] = await cipher(enc, secret, nonce, "encrypt");
    const encoded = await new BHttpEncoder().encodeResponse(new Response(bytes(body), { status, headers }));
    const sealed = await webcrypto.subtle.encrypt(algorithm, key, encoded);
    return {
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      body: base64(await request.arrayBuffer()),
      answer: base64(join(nonce, new Uint8Array(sealed))),
    };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { operation, ...given } = JSON.parse(line);
  try {
    console.log(JSON.stringify(await operations[operation](given)));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
