/**
 * Running gateway note: where a gateway listens, for the commands of its owner. It carries a MAC made with the owner's
 * token: a person who can write into the data directory, but not read its keys, must not make a command send that token
 * to another program. The note may outlive its gateway, and another program may get its address and process number:
 * before a credential is sent, the program at that address proves that it has the owner's token, too.
 */
import { createHmac } from 'node:crypto'
import { areBytesEqual, toUtf8 } from '../core/bytes.ts'
import { canonicalJson, isJsonObject, parseJsonOrUndefined } from '../core/json.ts'

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

/** It names the address: the answer of a gateway that listens elsewhere proves nothing about this one. */
export function computeGatewayProof(
  { url, challenge }: { readonly url: string; readonly challenge: string },
  ownerToken: string,
): string {
  return createHmac('sha256', ownerToken)
    .update(`hearthbus gateway proof v1\n${canonicalJson({ challenge, url })}`)
    .digest('hex')
}

function computeNoteMac({ url, pid, version }: RunningGatewayNote, ownerToken: string): string {
  return createHmac('sha256', ownerToken)
    .update(`hearthbus gateway note v1\n${canonicalJson({ url, pid, version })}`)
    .digest('hex')
}
