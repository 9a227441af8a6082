// A certified OpenID provider, as an organization runs one. Its own pages ask for a name and take any password.
import { createInterface } from "node:readline";
import Provider from "oidc-provider";
import { exportJWK, generateKeyPair } from "jose";

const groups = new Map();
let server;

async function key(alg, kid) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, kid, use: "sig" };
}

const operations = {
  // At the same port it is the same provider, with another key.
  async start({ port, algorithm, client, secret, redirect, kid }) {
    await operations.stop();
    const issuer = `http://127.0.0.1:${port}`;
    const provider = new Provider(issuer, {
      claims: { openid: ["sub", "groups"], profile: ["preferred_username"] },
      clients: [
        {
          client_id: client,
          client_secret: secret,
          redirect_uris: [redirect],
          id_token_signed_response_alg: algorithm,
        },
      ],
      // Claims in the ID token, as other providers have them, not at a further address only.
      conformIdTokenClaims: false,
      cookies: { keys: ["a key for cookies of this test"] },
      findAccount: (_, sub) => ({
        accountId: sub,
        claims: () => ({ sub, preferred_username: sub, groups: groups.get(sub) ?? [] }),
      }),
      jwks: { keys: [await key(algorithm, kid)] },
      pkce: { required: () => true },
    });
    await new Promise((resolve) => {
      server = provider.listen(port, "127.0.0.1", resolve);
    });
    return { issuer };
  },
  async stop() {
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve()));
    server = undefined;
    return {};
  },
  group({ account, names }) {
    groups.set(account, names);
    return {};
  },
};

// What the provider warns of goes to the other stream.
console.info = console.log = console.error;
const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
  let answer;
  try {
    const { operation, ...given } = JSON.parse(line);
    answer = await operations[operation](given);
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await operations.stop();
