/**
 * Doctor finding: one sentence of an examination: what it is about, how bad it is, and what to do.
 *
 * Every examination returns these, before a start and in a running gateway alike.
 */
export interface DoctorFinding {
  /** `warn`: the rest of it works. `fail`: it does not work. */
  readonly level: 'ok' | 'warn' | 'fail'
  /** A service, or a part of the node such as `ledger`. */
  readonly about: string
  /** What works, or what is wrong and what the owner can do about it. */
  readonly sentence: string
  /** A start would end with this. */
  readonly refusesStart?: true
}

const MARKS: Readonly<Record<DoctorFinding['level'], string>> = { ok: '✓', warn: '!', fail: '✗' }

/** One line each, for a person. */
export function formatFindingLines(findings: readonly DoctorFinding[]): readonly string[] {
  return findings.map(({ level, about, sentence }) => `${MARKS[level]} ${about}: ${sentence}`)
}
