/**
 * Verification history: what earlier verifications by this process found in its own log, and so from where the next one
 * may begin and whether the ledger counts as damaged.
 *
 * Pure.
 */
import type { SignedCheckpoint } from './checkpoint.ts'
import { SOUND_LEDGER_STATE } from './ledger-state.ts'
import type { LedgerSoundness } from './ledger-state.ts'
import type { LogVerificationOptions, LogVerificationReport } from './log-verification.ts'

export interface OpenLedgerVerificationOptions extends LogVerificationOptions {
  /**
   * Verify only from the checkpoint up to which this process last found no defect; everything, if it has not verified
   * yet.
   */
  readonly incremental?: boolean
}

export interface CompleteVerification {
  readonly atMs: number
  readonly size: number
  readonly findings: number
}

export interface VerificationRun {
  readonly report: LogVerificationReport
  readonly since: SignedCheckpoint | undefined
  /** The newest checkpoint when the run began. */
  readonly latest: SignedCheckpoint | undefined
  readonly atMs: number
}

export class VerificationHistory {
  #clean: SignedCheckpoint | undefined
  #last: CompleteVerification | undefined

  /** The last complete verification. */
  get last(): CompleteVerification | undefined {
    return this.#last
  }

  /** The checkpoint from which a verification begins; `undefined` for one that reads everything. */
  startOf({ since, incremental }: OpenLedgerVerificationOptions): SignedCheckpoint | undefined {
    return since ?? (incremental === true ? this.#clean : undefined)
  }

  /** Records a verification, and returns the state of the ledger after it. */
  record({ report, since, latest, atMs }: VerificationRun, state: LedgerSoundness): LedgerSoundness {
    const findings = report.findings.length + report.more
    if (report.compared) this.#last = { atMs, size: report.size, findings }
    if (findings > 0) {
      // Earlier clean results no longer count: the next run reads everything.
      this.#clean = undefined
      return state.kind === 'refusing' ? state : { kind: 'damaged', findings }
    }
    // A run over the newest entries says nothing about the damage before them.
    if (since !== undefined && state.kind === 'damaged') return state
    this.#clean = latest
    return state.kind === 'damaged' ? SOUND_LEDGER_STATE : state
  }
}
