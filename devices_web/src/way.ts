/**
 * How requests reach the servers of a recipe: directly, or through its relay. Nothing is repeated here,
 * except if a gateway's key is outdated. Requests do not identify their sender: no cookies, no address of the
 * page.
 */

import { type Bytes, concat, FieldError } from "./bytes.ts";
import {
  CapsuleError,
  type GatewayKey,
  type InnerRequest,
  type InnerResponse,
  KEY_SIGNATURE_HEADER,
  OHTTP_KEYS_TYPE,
  OHTTP_REQUEST_TYPE,
  OHTTP_RESPONSE_TYPE,
  readGatewayKeys,
  sealRequest,
} from "./oblivious.ts";

/** More than other answers have that a device reads. */
const MOST_BYTES = 1024 * 1024;
const PATIENCE = 60_000;
/** The requested type if an address has one representation. */
export const ANY_TYPE = "*/*";
export const JSON_TYPE = "application/json";
export const OUTDATED_KEY = "https://iana.org/assignments/http-problem-types#ohttp-key";

/** A request below a server's address. */
export interface Asked {
  readonly path: string;
  /** Media type of the answer. */
  readonly accept: string;
  /** A POST; without it a GET. */
  readonly body?: { readonly type: string; readonly content: Bytes };
  /** Bytes that the answer may have; 1 MiB unless given. A relay's answers have no more. */
  readonly most?: number;
}

/** A server's answer. */
export interface Answer {
  readonly status: number;
  /** Media type, without parameters but DAP's `message`. */
  readonly type: string;
  readonly content: Bytes;
}

/** There is no answer of the server: it is unknown whether the request arrived. */
export class NoAnswerError extends Error {
  override name = "NoAnswerError";
}

/**
 * A report that will never be accepted: its recipe is closed, or the report or its token was refused finally.
 */
export class UndeliverableError extends Error {
  override name = "UndeliverableError";
}

/** Path of a recipe at the API of the site that published it. */
export function recipePath(recipe: string): string {
  return `/api/v1/recipes/${encodeURIComponent(recipe)}/`;
}

/** The transport to one server. */
export interface Way {
  /** @throws NoAnswerError */
  ask(asked: Asked): Promise<Answer>;
  /** The same to another server of the recipe. FieldError for one that this transport cannot reach. */
  at(server: string): Way;
}

/** Straight to the server. */
export class DirectWay implements Way {
  readonly #server: string;

  /** @throws FieldError unless `server` is an http or https address. */
  constructor(server: string) {
    this.#server = requireAddress("server", server);
  }

  at(server: string): Way {
    return new DirectWay(server);
  }

  async ask(asked: Asked): Promise<Answer> {
    const response = await fetched(`${this.#server}${asked.path}`, asked);
    const content = await contentOf(response, asked.most);
    return { status: response.status, type: typeOf(response.headers), content };
  }
}

/** A server whose gateway a relay leads to. */
export interface Behind {
  /** Below the relay's address of the publishing site; empty for that site itself. */
  readonly name: string;
  /** With which it signs its gateway's keys: Ed25519, 32 bytes, pinned. */
  readonly verificationKey: Bytes;
}

/** Through a relay, which sees the sender and not the content. The relay's own responses are no answer. */
export class RelayedWay implements Way {
  #key: GatewayKey | undefined;

  /**
   * @param server base address of the server.
   * @param relay the address at the relay that leads to the publishing site. @param servers all servers that
   * the relay leads to, by their addresses. @param atLeast bytes of every request without padding.
   */
  constructor(
    readonly server: string,
    readonly relay: string,
    readonly servers: ReadonlyMap<string, Behind>,
    readonly atLeast: number,
  ) {
    this.#behind();
  }

  at(server: string): Way {
    return new RelayedWay(server, this.relay, this.servers, this.atLeast);
  }

  async ask(asked: Asked): Promise<Answer> {
    const inner = innerRequest(this.server, asked);
    for (let attempt = 0; attempt < 2; attempt++) {
      this.#key ??= await gatewayKey(this.#address, this.#behind().verificationKey);
      const capsule = await sealRequest(this.#key, inner, { atLeast: this.atLeast });
      const outer = await carried(this.#address, capsule.body);
      if (outer.status === 200 && outer.type === OHTTP_RESPONSE_TYPE) {
        return answerOf(() => capsule.open(outer.content));
      }
      if (problemOf(outer).type !== OUTDATED_KEY) {
        throw new NoAnswerError(`the relay answers ${outer.status}`);
      }
      this.#key = undefined;
    }
    throw new NoAnswerError("the gateway does not know the key that it has just handed out");
  }

  get #address(): string {
    const { name } = this.#behind();
    return name === "" ? this.relay : `${this.relay}/${name}`;
  }

  #behind(): Behind {
    const behind = this.servers.get(this.server);
    if (behind === undefined) {
      throw new FieldError("relay", `does not lead to ${this.server}, which is not asked in the clear`);
    }
    return behind;
  }
}

/** A gateway's key, signed by its server itself: who carries it could hand out keys of its own. */
export async function gatewayKey(url: string, verificationKey: Bytes): Promise<GatewayKey> {
  const outer = await fetched(url, { accept: OHTTP_KEYS_TYPE });
  const content = await contentOf(outer);
  if (outer.status !== 200) {
    throw new NoAnswerError(`${url} answers ${outer.status}`);
  }
  const signature = outer.headers.get(KEY_SIGNATURE_HEADER) ?? "";
  return sealed(async () => readGatewayKeys(content, signature, verificationKey));
}

/**
 * Post a capsule to a relay or an attester, which hand it on.
 *
 * @returns the sealed answer of the server behind it, or a problem document in the clear.
 */
export async function carried(
  url: string,
  capsule: Bytes,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const body = { type: OHTTP_REQUEST_TYPE, content: capsule };
  const outer = await fetched(url, { accept: OHTTP_RESPONSE_TYPE, body }, headers);
  return { status: outer.status, type: typeOf(outer.headers), content: await contentOf(outer) };
}

/** The answer in a capsule. NoAnswerError if it does not open. */
export async function answerOf(open: () => Promise<InnerResponse>): Promise<Answer> {
  const { status, headers, content } = await sealed(open);
  return { status, type: typeOf(new Headers(headers.map((field) => [...field]))), content };
}

/** An http or https address without anything behind its path, and without a slash at its end. */
export function requireAddress(field: string, url: unknown): string {
  if (typeof url !== "string" || !/^https?:\/\/[!-~]+[^/]$/.test(url) || /[?#@]/.test(url)) {
    throw new FieldError(field, "must be an http or https address without trailing slash");
  }
  return url;
}

/** The host of an address, with its port if the address has one. */
export function hostOf(url: string): string {
  return /^https?:\/\/([^/]+)/.exec(url)![1]!;
}

/** Fields of a problem document (RFC 9457) that devices read; empty if it is none. */
export function problemOf({ content }: Pick<Answer, "content">): Readonly<Record<string, unknown>> {
  try {
    const members: unknown = JSON.parse(new TextDecoder().decode(content));
    return typeof members === "object" && members !== null ? (members as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The fields of a JSON object. NoAnswerError if the content is none. */
export function jsonOf(answer: Answer): Readonly<Record<string, unknown>> {
  const members = problemOf(answer);
  if (answer.status !== 200 || Object.keys(members).length === 0) {
    throw new NoAnswerError(`the server answers ${answer.status}, without what was asked for`);
  }
  return members;
}

function innerRequest(server: string, { path, accept, body }: Asked): InnerRequest {
  const authority = hostOf(server);
  return {
    method: body === undefined ? "GET" : "POST",
    authority,
    path: `${server.replace(/^https?:\/\/[^/]+/, "")}${path}`,
    headers: [["accept", accept], ...(body === undefined ? [] : [["content-type", body.type] as const])],
    content: body?.content ?? new Uint8Array(0),
  };
}

async function fetched(
  url: string,
  { accept, body }: Pick<Asked, "accept" | "body">,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  try {
    return await fetch(url, {
      headers: { Accept: accept, ...(body === undefined ? {} : { "Content-Type": body.type }), ...headers },
      ...(body === undefined ? {} : { method: "POST", body: body.content }),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(PATIENCE),
    });
  } catch (error) {
    // A browser does not reveal to a page which of the two it is.
    const why = "it cannot be reached, or its PANAPP_DEVICE_ORIGINS lacks the origin of this page";
    const also = error instanceof TypeError ? ` (${why})` : "";
    throw new NoAnswerError(`no answer from ${url}: ${(error as Error).message}${also}`);
  }
}

async function contentOf(response: Response, most = MOST_BYTES): Promise<Bytes> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for (const reader = response.body?.getReader(); reader !== undefined; ) {
      const { done, value } = await reader.read();
      if (done) {
        break;
      }
      parts.push(value);
      length += value.length;
      if (length > most) {
        await reader.cancel();
        throw new Error(`it is longer than ${most} bytes`);
      }
    }
  } catch (error) {
    throw new NoAnswerError(`an answer cannot be read: ${(error as Error).message}`);
  }
  return concat(...parts);
}

function typeOf(headers: Headers): string {
  const [type, ...parameters] = (headers.get("Content-Type") ?? "").split(";").map((part) => part.trim());
  const message = parameters.find((parameter) => parameter.startsWith("message="));
  return message === undefined ? type! : `${type};${message}`;
}

/** An answer that only the server behind a gateway can have made; anything else is not its answer. */
async function sealed<Read>(read: () => Promise<Read>): Promise<Read> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CapsuleError) {
      throw new NoAnswerError(`what came through the relay is not the server's: ${error.message}`);
    }
    throw error;
  }
}
