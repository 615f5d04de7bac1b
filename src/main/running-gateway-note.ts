/**
 * Running gateway note: where a gateway listens, for the commands of its owner. It carries a MAC made with the owner's
 * token: a person who can write into the data directory, but not read its keys, must not make a command send that token
 * to another program. The note may outlive its gateway, and another program may get its address and process number:
 * before a credential is sent, the program at that address proves that it has the owner's token, too.
 *
 * A person who can write into the data directory can also replace the token. Where there is a pin outside of that
 * directory, the program therefore signs with the node's key, and the signature has to be valid for the pinned one.
 */
import { createHmac, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { areBytesEqual, fromBase64, toBase64, toUtf8 } from '../core/bytes.ts'
import { canonicalJson, isJsonObject, parseJsonOrUndefined } from '../core/json.ts'
import type { NoteVerifier } from '../ledger/note-key.ts'

export interface RunningGatewayNote {
  readonly url: string
  readonly pid: number
  readonly version: string
}

export function encodeRunningGatewayNote(note: RunningGatewayNote, ownerToken: string): string {
  return JSON.stringify({ ...note, mac: computeNoteMac(note, ownerToken) })
}

/**
 * Returns `undefined` for text that no gateway wrote. Without the owner's token the MAC is not checked, and no
 * credential may be sent to that address.
 */
export function parseRunningGatewayNote(text: string, ownerToken: string | undefined): RunningGatewayNote | undefined {
  const value = parseJsonOrUndefined(text)
  if (!isJsonObject(value)) return undefined
  const { url, pid, version, mac } = value
  if (typeof url !== 'string' || typeof pid !== 'number' || typeof version !== 'string') return undefined
  const note = { url, pid, version }
  if (ownerToken === undefined) return note
  const isOwn = typeof mac === 'string' && areBytesEqual(toUtf8(mac), toUtf8(computeNoteMac(note, ownerToken)))
  return isOwn ? note : undefined
}

/** Headers of `GET /health`: what a command sends, and the answer of a gateway. */
export const GATEWAY_CHALLENGE_HEADER = 'x-hearthbus-challenge'
export const GATEWAY_PROOF_HEADER = 'x-hearthbus-proof'
export const GATEWAY_SIGNATURE_HEADER = 'x-hearthbus-signature'

/** With the address: the answer of a gateway that listens elsewhere proves nothing about this one. */
export interface GatewayChallenge {
  readonly url: string
  readonly challenge: string
}

export function signGatewayChallenge(challenge: GatewayChallenge, privateKey: KeyObject): string {
  return toBase64(sign(null, toUtf8(encodeGatewayStatement(challenge)), privateKey))
}

/** `signature`: the value of the header, if there is one. */
export function isGatewaySignatureValid(signature: unknown, challenge: GatewayChallenge, key: NoteVerifier): boolean {
  const bytes = typeof signature === 'string' ? fromBase64(signature) : undefined
  return bytes !== undefined && key.verify(encodeGatewayStatement(challenge), bytes).ok
}

/**
 * No other text that a node's key signs begins with this line: a checkpoint begins with the name of a log, which has no
 * spaces, and documents for other nodes begin with a brace.
 */
function encodeGatewayStatement({ url, challenge }: GatewayChallenge): string {
  return `hearthbus gateway signature v1\n${canonicalJson({ challenge, url })}`
}

export function computeGatewayProof({ url, challenge }: GatewayChallenge, ownerToken: string): string {
  return createHmac('sha256', ownerToken)
    .update(`hearthbus gateway proof v1\n${canonicalJson({ challenge, url })}`)
    .digest('hex')
}

function computeNoteMac({ url, pid, version }: RunningGatewayNote, ownerToken: string): string {
  return createHmac('sha256', ownerToken)
    .update(`hearthbus gateway note v1\n${canonicalJson({ url, pid, version })}`)
    .digest('hex')
}
