/**
 * Thrown: what somebody else's code threw, in words and as the system's own code for it. Anything can be thrown.
 *
 * Pure.
 */

export function thrownMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** Such as `ENOENT`; `undefined` for what no system call said. */
export function systemCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
