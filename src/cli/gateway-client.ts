/**
 * Gateway client: sends a command's requests to the gateway that runs on this machine.
 *
 * It finds the gateway by the lock that the gateway holds and the note that it leaves in its data directory. Where there
 * is a pin outside of that directory, it talks only to a program that signs with the pinned key. A command that acts
 * like an agent sends the token in HEARTHBUS_TOKEN, or none. One that decides or administers sends the owner's token
 * from the owner's file; so does one that only reads, where the node requires a token of everybody.
 */
import { get } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import { homedir } from 'node:os'
import { readLedgerPinsKey } from '../config/config-file-store.ts'
import { buildDataDirectoryPaths, resolveDataRoot, resolveDemoDataRoot } from '../config/data-directory.ts'
import { readBoundedFile } from '../core/bounded-file-store.ts'
import { toHex } from '../core/bytes.ts'
import { randomBytes } from '../core/ids.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { isProcessAlive, isProcessLockHeld } from '../core/process-lock-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { unwrapErrorCause, readSystemErrorCode, readErrorMessage } from '../core/thrown-error.ts'
import { readPinnedKey } from '../ledger/ledger-pin-store.ts'
import type { PinnedKey } from '../ledger/ledger-pin-store.ts'
import { explainInaccessibleDataRoot } from '../main/data-directory-check-store.ts'
import { locatePins, toLockPaths } from '../main/ledger-pin-location-store.ts'
import {
  computeGatewayProof,
  GATEWAY_CHALLENGE_HEADER,
  GATEWAY_PROOF_HEADER,
  GATEWAY_SIGNATURE_HEADER,
  isGatewaySignatureValid,
  parseRunningGatewayNote,
} from '../main/running-gateway-note.ts'
import type { RunningGatewayNote } from '../main/running-gateway-note.ts'

export interface LocatedGateway {
  /** The note that the gateway wrote when it began to listen (main.ts). */
  readonly note: RunningGatewayNote
  readonly dataRoot: string
  /**
   * Whether the note was authenticated, or the user named the same address. A credential is sent to no other gateway.
   */
  readonly isAuthentic: boolean
  /** The key that the gateway has to sign with; `undefined` where there is no pin that this user may read. */
  readonly pin: PinnedKey | undefined
  /** The data directory with a pin that the user named, where a gateway was found in the demo's, which has none. */
  readonly isInsteadOf?: string | undefined
}

/** The options that select a gateway; each may come from the environment, too. */
export interface GatewaySelection {
  readonly data?: string | undefined
  readonly config?: string | undefined
}

export type GatewayClientFault =
  | { readonly kind: 'not-running'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string }
  /** Something listens there, and nothing proves that it is the gateway. */
  | { readonly kind: 'unproven'; readonly message: string }
  | { readonly kind: 'refused'; readonly status: number; readonly message: string; readonly body: Json }

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: Json
  /** Sends the owner's credential. */
  readonly asOwner?: boolean
  /** Sends the credential in HEARTHBUS_VOTER_TOKEN, if it is set. */
  readonly asVoter?: boolean
  /** For requests that read other callers' acts: sends the owner's credential, unless HEARTHBUS_TOKEN is set. */
  readonly asWatcher?: boolean
  /** For requests such as a call or an export, which have a limit of their own, or none. */
  readonly mayTakeLong?: boolean
}

/** The limit for all other requests. It is longer than a gateway takes to detect that its disk does not answer. */
const ANSWER_MS = 7_000

/** Finds a running gateway in the named data directory, else in the default one, else in the demo's inside of it. */
export function findRunningGateway(given: GatewaySelection): Result<LocatedGateway, GatewayClientFault> {
  const root = resolveDataRoot(given.data, process.env, homedir())
  const pinFolder = readLedgerPinsKey(given.config, process.env, homedir())
  const pinPaths = locatePins(pinFolder, root)
  for (const candidate of [root, resolveDemoDataRoot(root)]) {
    const data = buildDataDirectoryPaths(candidate)
    // A gateway that was killed leaves its note behind, and the program that has its port now must not get our
    // credential.
    if (!isProcessLockHeld(data.lock)) {
      const held = candidate === root ? toLockPaths(pinPaths).find(isProcessLockHeld) : undefined
      if (held === undefined) continue
      // The demo's directory is inside of this one: a program that can write there could have commands led to it.
      return fail({
        kind: 'unreachable',
        message: `A gateway uses ${root} (it holds ${held}), but ${data.lock} is no longer the file that it holds: another program moved or replaced it. If the gateway was not just started or stopped, stop it and start it again.`,
      })
    }
    const owner = readText(data.ownerToken)?.trim()
    const note = parseRunningGatewayNote(readText(data.gateway) ?? '', owner)
    if (note !== undefined && isProcessAlive(note.pid)) {
      const isAuthentic = owner !== undefined || note.url === process.env['HEARTHBUS_URL']
      const pin = readPinnedKey(candidate === root ? pinPaths : locatePins(pinFolder, candidate))
      const isInsteadOf = candidate !== root && readPinnedKey(pinPaths) !== undefined ? root : undefined
      return ok({ note, dataRoot: candidate, isAuthentic, pin, isInsteadOf })
    }
    return fail({
      kind: 'unreachable',
      message: `A gateway uses ${candidate}, but ${data.gateway} does not say where it listens, or was not written by that gateway. It may just be starting; if it stays so, stop it and start it again.`,
    })
  }
  return fail({
    kind: 'not-running',
    message:
      explainInaccessibleDataRoot(root) ??
      `No gateway runs for ${root}. Start one with \`hearthbus up\` (or \`npm start\` for the demo).`,
  })
}

export async function requestGateway(
  gateway: LocatedGateway,
  question: ApiRequest,
): Promise<Result<Json, GatewayClientFault>> {
  const owner = readText(buildDataDirectoryPaths(gateway.dataRoot).ownerToken)?.trim()
  // A voter in a round answers with a credential of their own.
  const shown = process.env['HEARTHBUS_VOTER_TOKEN']
  if (question.asVoter === true && shown !== undefined) return requestWith(gateway, question, shown)
  if (question.asOwner === true) {
    if (owner !== undefined) return requestWith(gateway, question, owner)
    return fail({
      kind: 'unreachable',
      message: `The owner's credential in ${gateway.dataRoot}/keys cannot be read. Run this as the user who runs the gateway.`,
    })
  }
  const token = process.env['HEARTHBUS_TOKEN'] ?? (question.asWatcher === true ? owner : undefined)
  const answer = await requestWith(gateway, question, token)
  if (answer.ok || token !== undefined || answer.fault.kind !== 'refused' || answer.fault.status !== 401) return answer
  // Only for reading: a change is made with a credential that the user chose explicitly.
  if ((question.method ?? 'GET') === 'GET' && owner !== undefined) return requestWith(gateway, question, owner)
  return fail({ ...answer.fault, message: `${answer.fault.message} Set HEARTHBUS_TOKEN to one.` })
}

async function requestWith(
  gateway: LocatedGateway,
  { method = 'GET', path, body, mayTakeLong = false }: ApiRequest,
  token: string | undefined,
): Promise<Result<Json, GatewayClientFault>> {
  const refusal = await checkGatewayAuthenticity(gateway, token)
  if (refusal !== undefined) return fail(refusal)
  // A request that may take long is sent only after the gateway has answered another one, such as the challenge.
  const awake =
    mayTakeLong && gateway.pin === undefined ? await requestWith(gateway, { path: '/health' }, undefined) : ok(null)
  if (!awake.ok) return awake
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`
  let response: Response
  let answer: Json
  try {
    response = await fetch(`${gateway.note.url}${path}`, {
      method,
      headers,
      // A request that changes something always has a body and its length, so that a server that limits bodies need not
      // read one to know that it is empty.
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
      // A process that is stopped or hangs accepts the connection and never answers.
      ...(mayTakeLong ? {} : { signal: AbortSignal.timeout(ANSWER_MS) }),
    })
    answer = parse(await response.text())
  } catch (error) {
    const mayHappen = method === 'GET' || neverConnected(error) ? '' : ' What you asked for may still happen.'
    return fail(toSilenceFault(gateway, error, mayHappen))
  }
  if (response.ok) return ok(answer)
  return fail({
    kind: 'refused',
    status: response.status,
    message: messageOf(answer) ?? `The gateway answered ${response.status}.`,
    body: answer,
  })
}

function toSilenceFault({ note }: LocatedGateway, error: unknown, mayHappen = ''): GatewayClientFault {
  return {
    kind: 'unreachable',
    message: `The gateway at ${note.url} does not answer (${causeOf(error)}).${mayHappen} \`hearthbus doctor\` may know why.`,
  }
}

/**
 * A program that can write into the data directory can move the owner's token away and write a note with an address of
 * its own, or wait until the gateway is killed and take its lock, its address and its process number. A listener that is
 * not proven to be the gateway is therefore asked without a credential, or not at all. Such a program can also put a
 * token of its own in place, which proves nothing then: where there is a pin, only the pinned key counts, and without it
 * not even a request without a credential is sent.
 */
export async function checkGatewayAuthenticity(
  gateway: LocatedGateway,
  token: string | undefined,
): Promise<GatewayClientFault | undefined> {
  const { note, dataRoot, isAuthentic, pin, isInsteadOf } = gateway
  if (pin !== undefined) return explainMissingSignature(gateway, pin)
  if (token === undefined) return undefined
  const owner = readText(buildDataDirectoryPaths(dataRoot).ownerToken)?.trim()
  if (isInsteadOf !== undefined && token !== owner)
    return {
      kind: 'unproven',
      message: `No gateway runs for ${isInsteadOf}, and what runs in ${dataRoot} is not shown the token in the environment: it is in a directory of its own, and there is no pin for it. To show the token to it: --data ${dataRoot}`,
    }
  if (isAuthentic) return owner === undefined ? undefined : explainMissingProof(gateway, owner)
  return {
    kind: 'unproven',
    message: `Nothing proves that ${note.url} is the gateway of ${dataRoot}, so no credential is shown to it: the owner's token in ${dataRoot}/keys cannot be read. Run this as the user who runs the gateway, or set HEARTHBUS_URL to the address that its owner gave you.`,
  }
}

/** Only a program with the owner's token, at this very address, can answer. */
function explainMissingProof(gateway: LocatedGateway, owner: string): Promise<GatewayClientFault | undefined> {
  const { url } = gateway.note
  return challengeGateway(gateway, {
    isProven: (headers, challenge) => headers[GATEWAY_PROOF_HEADER] === computeGatewayProof({ url, challenge }, owner),
    refusal: `What answers at ${url} is not the gateway of ${gateway.dataRoot}, so no credential is shown to it: it does not have the owner's token. If the gateway was just started or stopped, try again; otherwise find out which program listens there.`,
  })
}

/** Only a program with the private half of the pinned key, at this very address, can answer. */
async function explainMissingSignature(
  gateway: LocatedGateway,
  { path, key }: PinnedKey,
): Promise<GatewayClientFault | undefined> {
  const { url } = gateway.note
  if (key === undefined)
    return {
      kind: 'unproven',
      message: `Nothing proves that ${url} is the gateway of ${gateway.dataRoot}, so nothing is sent to it: what is in the place of its pin, ${path}, does not hold a key. Look at that file before you remove it.`,
    }
  return challengeGateway(gateway, {
    isProven: (headers, challenge) =>
      isGatewaySignatureValid(headers[GATEWAY_SIGNATURE_HEADER], { url, challenge }, key),
    refusal: `What answers at ${url} is not the gateway of ${gateway.dataRoot}, so nothing is sent to it: it did not sign with the key in ${path}. If the gateway was just started or stopped, try again. If Hearthbus was updated while it ran, start the gateway again: an older version does not sign. Otherwise another program put its own address into that directory; find out which one listens there.`,
  })
}

async function challengeGateway(
  gateway: LocatedGateway,
  rules: {
    readonly isProven: (headers: IncomingHttpHeaders, challenge: string) => boolean
    readonly refusal: string
  },
): Promise<GatewayClientFault | undefined> {
  const challenge = toHex(randomBytes(CHALLENGE_BYTES))
  try {
    const headers = await sendChallenge(gateway.note.url, challenge)
    return rules.isProven(headers, challenge) ? undefined : { kind: 'unproven', message: rules.refusal }
  } catch (error) {
    return toSilenceFault(gateway, error)
  }
}

/**
 * Without `fetch`: the second one in a process costs 45 ms, in which V8 compiles its WebAssembly parser once more, and
 * most commands send one request after this.
 */
function sendChallenge(url: string, challenge: string): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    const options = {
      headers: { [GATEWAY_CHALLENGE_HEADER]: challenge },
      agent: false,
      signal: AbortSignal.timeout(ANSWER_MS),
    }
    get(`${url}/health`, options, (response) => {
      // The answer is in the headers; a body may have no end.
      response.destroy()
      resolve(response.headers)
    }).on('error', reject)
  })
}

const CHALLENGE_BYTES = 16

function readText(path: string): string | undefined {
  try {
    return readBoundedFile(path, MAX_NOTE_BYTES).toString()
  } catch {
    return undefined
  }
}

const MAX_NOTE_BYTES = 65_536

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

function messageOf(answer: Json): string | undefined {
  const error = isJsonObject(answer) ? answer['error'] : undefined
  const message = isJsonObject(error) ? error['message'] : undefined
  return typeof message === 'string' ? message : undefined
}

function causeOf(error: unknown): string {
  return readErrorMessage(unwrapErrorCause(error))
}

function neverConnected(error: unknown): boolean {
  return readSystemErrorCode(unwrapErrorCause(error)) === 'ECONNREFUSED'
}
