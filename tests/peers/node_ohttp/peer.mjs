// The other end of HPKE and of oblivious HTTP, of parts that are not ours: bhttp-js (RFC 9292), @hpke/core (RFC
// 9180) and @hpke/hybridkem-x-wing.
// Reads one JSON object per line, writes one per line. Only RFC 9458's own framing is written here.
import { createHmac, randomBytes, webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { XWing } from "@hpke/hybridkem-x-wing";
import { BHttpDecoder, BHttpEncoder } from "bhttp-js";

const suites = new Map(
  [new DhkemX25519HkdfSha256(), new XWing()].map((kem) => [
    kem.id,
    new CipherSuite({ kem, kdf: new HkdfSha256(), aead: new Aes128Gcm() }),
  ]),
);
const SECRET_BYTES = 16;
const NONCE_BYTES = 12;

const text = (string) => new TextEncoder().encode(string);
const join = (...parts) => new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part))));
const bytes = (base64) => new Uint8Array(Buffer.from(base64, "base64"));
const base64 = (array) => Buffer.from(array).toString("base64");
const hmac = (key, data) => createHmac("sha256", key).update(data).digest();
const expanded = (key, label, length) => hmac(key, join(text(label), [1])).subarray(0, length);
const uint16 = (array, at) => new DataView(array.buffer, array.byteOffset).getUint16(at);
const info = (header) => join(text("message/bhttp request"), [0], header).buffer;

async function cipher(enc, secret, nonce, usage) {
  const prk = hmac(join(enc, nonce), new Uint8Array(secret));
  const key = await webcrypto.subtle.importKey("raw", expanded(prk, "key", 16), "AES-GCM", false, [usage]);
  return [{ name: "AES-GCM", iv: expanded(prk, "nonce", NONCE_BYTES) }, key];
}

let exchange;

const operations = {
  // As a client: a capsule to the key of this KEM in a list.
  async seal({ keys, kem, method, url, headers, body, length }) {
    let list = bytes(keys);
    while (uint16(list, 3) !== kem) {
      list = list.subarray(2 + uint16(list, 0));
    }
    const config = list.subarray(2);
    const header = join(config.subarray(0, 3), [0, 1, 0, 1]);
    const suite = suites.get(kem);
    const publicKey = config.slice(3, 3 + suite.kem.publicKeySize).buffer;
    const recipientPublicKey = await suite.kem.deserializePublicKey(publicKey);
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
  // One message of HPKE, with what it is bound to.
  async hpkeSeal({ kem, publicKey, info, aad, plaintext }) {
    const suite = suites.get(kem);
    const recipientPublicKey = await suite.kem.deserializePublicKey(bytes(publicKey).buffer);
    const sender = await suite.createSenderContext({ recipientPublicKey, info: bytes(info).buffer });
    const sealed = await sender.seal(bytes(plaintext).buffer, bytes(aad).buffer);
    return { enc: base64(new Uint8Array(sender.enc)), ciphertext: base64(new Uint8Array(sealed)) };
  },
  async hpkeOpen({ kem, privateKey, enc, info, aad, ciphertext }) {
    const suite = suites.get(kem);
    const recipientKey = await suite.kem.deserializePrivateKey(bytes(privateKey).buffer);
    const recipient = await suite.createRecipientContext({
      recipientKey,
      enc: bytes(enc).buffer,
      info: bytes(info).buffer,
    });
    const opened = await recipient.open(bytes(ciphertext).buffer, bytes(aad).buffer);
    const secret = await recipient.export(text("label").buffer, 32);
    return { plaintext: base64(new Uint8Array(opened)), secret: base64(new Uint8Array(secret)) };
  },
  // As a gateway: what came in a capsule, and a sealed answer to it.
  async answer({ privateKey, capsule, status, headers, body }) {
    const all = bytes(capsule);
    const header = all.slice(0, 7);
    const suite = suites.get(uint16(all, 1));
    const encBytes = suite.kem.encSize;
    const enc = all.slice(7, 7 + encBytes);
    const recipientKey = await suite.kem.deserializePrivateKey(bytes(privateKey).buffer);
    const recipient = await suite.createRecipientContext({ recipientKey, enc: enc.buffer, info: info(header) });
    const opened = await recipient.open(all.slice(7 + encBytes).buffer);
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
