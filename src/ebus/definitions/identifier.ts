/**
 * Identifier: which names circuits, messages and fields may have.
 */

const IDENTIFIER = /^(?:[a-zA-Z_$][\w$.]*)?$/
const CIRCUIT = /^(?:[\w$][\w$.]*)?$/

export function isIdentifier(name: string): boolean {
  return IDENTIFIER.test(name)
}

/** May begin with a digit. */
export function isCircuitName(name: string): boolean {
  return CIRCUIT.test(name)
}
