/**
 * Protocol mismatch: whether what an adapter says is in the protocol that it was expected to speak.
 *
 *   plain bytes read as enhanced     every SYN is the second half of a pair without a first
 *   enhanced bytes read as plain     between any two SYN there is a C6, which is nobody's address
 *
 * A wrong protocol prefix in the address is the most common reason why nothing works, and looks like many other faults.
 *
 * Pure, but for the dialect it is given.
 */
import type { UntimedBusEvent } from './ebus-connection.ts'

export interface ProtocolMismatchEvidence {
  /** The number of unexpected bytes since the connection was made. */
  unexpected: number
  understood: boolean
}

/** The first half of the pair that carries a SYN. */
const SYN_PAIR = 0xc6
/** A second of an idle bus. Noise has as many, but with complete telegrams in between. */
const MIN_UNEXPECTED = 25

export function newProtocolMismatchEvidence(): ProtocolMismatchEvidence {
  return { unexpected: 0, understood: false }
}

export function recordProtocolEvidence(dialect: ProtocolMismatchEvidence, happening: UntimedBusEvent): void {
  switch (happening.kind) {
    case 'connected':
      Object.assign(dialect, newProtocolMismatchEvidence())
      break
    case 'exchange':
      dialect.understood = true
      break
    case 'decode-fault':
      dialect.unexpected++
      break
    case 'broken':
      if (happening.reason === 'invalid-source' && happening.command[0] === SYN_PAIR) dialect.unexpected++
      break
    default:
  }
}

export function isProtocolMismatch({ unexpected, understood }: ProtocolMismatchEvidence): boolean {
  return unexpected >= MIN_UNEXPECTED && !understood
}
