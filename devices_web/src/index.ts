/**
 * A device that is a browser: the core, which depends on no page and stores nothing, and `PageDevice`, which
 * stores the state of a page's device and has the clock.
 *
 * `joinRecipe` makes a `Device`; its `step` takes a time step, `finish` makes the report, `report` or
 * `upload` gives it, `done` ends. After each, keep `device.state`; `Device.resume` goes on from it.
 * `requireLogged` checks a recipe's place in the site's public log, ahead of joining. `valueReport` is for
 * recipes that give a device one value and no steps. `stateView` shows what a state shows, and `leave` ends
 * what this origin keeps of a recipe.
 */

export { type Identities, NotAttestedError } from "./attester.ts";
export { FieldError } from "./bytes.ts";
export {
  type DapUpload,
  HPKE_CONFIG_LIST_TYPE,
  type HpkeConfig,
  readHpkeConfigs,
  UPLOAD_TYPE,
} from "./dap.ts";
export {
  Device,
  DeviceError,
  type DeviceState,
  joinRecipe,
  type JoinOptions,
  type Phase,
  type RestReport,
  type ValueReport,
  valueReport,
} from "./device.ts";
export { type Checkpoint, type Logged, parsePolicy, type Policy, requireLogged } from "./log.ts";
export { type LogMemory, type Remembered, requireContinues } from "./log_memory.ts";
export {
  type Capsule,
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
export { PageDevice, type PageOptions } from "./page.ts";
export { atSite, type Site } from "./site.ts";
export { leave } from "./storage.ts";
export { type RandomSource, systemRandom } from "./random.ts";
export {
  type Limits,
  type PinnedKeys,
  type Recipe,
  RecipeRefusedError,
  type ServedRecipe,
  USUAL_LIMITS,
  verifiedRecipe,
} from "./recipe.ts";
export { RecipeVerificationError } from "./document.ts";
export { LogError, TooFewWitnessesError } from "./signed_note.ts";
export {
  askForToken,
  challengeDigest,
  drawToken,
  type PendingToken,
  readTokenKey,
  type TokenDraws,
  TokenError,
  type TokenKey,
  type TokenState,
} from "./token.ts";
export { stateView, type StateView } from "./view.ts";
export {
  type Answer,
  type Asked,
  DirectWay,
  NoAnswerError,
  UndeliverableError,
  type Way,
} from "./way.ts";
