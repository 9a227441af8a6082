// A client of Privacy Pass and a verifier, as @cloudflare/privacypass-ts has them.
// Reads one JSON object per line, writes one per line.
import { createInterface } from "node:readline";
import { publicVerif, Token, TokenChallenge, TOKEN_TYPES } from "@cloudflare/privacypass-ts";

const MODE = publicVerif.BlindRSAMode.PSS;

const bytes = (base64) => new Uint8Array(Buffer.from(base64, "base64"));
const base64 = (array) => Buffer.from(array).toString("base64");

let client;

const operations = {
  async ask({ challenge, key }) {
    const read = TokenChallenge.deserialize(bytes(challenge));
    if (base64(read.serialize()) !== challenge) {
      throw new Error("the challenge is written in another way");
    }
    client = new publicVerif.Client(MODE);
    const request = await client.createTokenRequest(read, bytes(key));
    return { request: base64(request.serialize()) };
  },
  async finish({ response }) {
    const token = await client.finalize(client.deserializeTokenResponse(bytes(response)));
    return { token: base64(token.serialize()) };
  },
  async verify({ token, key }) {
    const spki = publicVerif.convertRSASSAPSSToEnc(bytes(key));
    const algorithm = { name: "RSA-PSS", hash: "SHA-384" };
    const imported = await crypto.subtle.importKey("spki", spki, algorithm, true, ["verify"]);
    const read = Token.deserialize(TOKEN_TYPES.BLIND_RSA, bytes(token));
    return { holds: await new publicVerif.Origin(MODE).verify(read, imported) };
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
