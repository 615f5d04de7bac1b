/**
 * Packet proof: that a packet comes from the other end of its session.
 *
 *   hmac-sha256:…   the MAC of its words under the session key: nobody in between can have changed or made it
 *   token:…         a word that follows from the session key: nobody who has not seen one of its packets can have made
 *                   it. Only where both nodes are told to leave out signatures (ADR 62), and what carries them is sealed.
 *
 * Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { utf8 } from '../../core/bytes.ts'
import type { Session } from '../sessions.ts'

const MAC = 'hmac-sha256:'

/** Whose word it is: a caller's under one proof is never a provider's. */
export type Speaker = 'call' | 'answer'

export function packetProof(speaker: Speaker, covered: string, payload: string, { key, tokens }: Session): string {
  if (tokens !== undefined) return tokens[speaker]
  return `${MAC}${createHmac('sha256', key).update(`packet ${covered}${payload}`).digest('base64url')}`
}

export function isPacketProven(
  speaker: Speaker,
  { proof, covered, payload }: { readonly proof: string; readonly covered: string; readonly payload: Uint8Array },
  { key, tokens }: Session,
): boolean {
  if (tokens !== undefined) return isSame(proof, tokens[speaker])
  const right = createHmac('sha256', key).update(`packet ${covered}`).update(payload).digest('base64url')
  return isSame(proof, `${MAC}${right}`)
}

function isSame(given: string, right: string): boolean {
  return given.length === right.length && timingSafeEqual(utf8(given), utf8(right))
}
