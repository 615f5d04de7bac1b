/**
 * Ledger facts: the state of the ledger in figures, and a proof against the last signature, cheap enough to ask often.
 */
import { areBytesEqual } from '../../core/bytes.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { explainLedgerDefects, formatSigningOutage } from '../../ledger/ledger-state.ts'
import type { LedgerHealthFacts } from './health-checks.ts'

/** Signs nothing and reads a few rows, because the service's `health` is called often. */
export function gatherLedgerHealthFacts(
  { ledger, clock }: RuntimeRecordDependencies,
  checkpointSeconds: number,
): LedgerHealthFacts {
  const state = ledger.state()
  const outage = ledger.signingOutage()
  const signed = ledger.latestCheckpoint()
  const size = ledger.size()
  const verified = ledger.lastVerification()
  const signedSize = signed?.checkpoint.size
  // Uses the wall clock, because entries outlive the process. If the clock went back, the age is 0.
  const since = (seq: number): number | undefined => {
    const at = ledger.entry(seq)?.entry.at
    return at === undefined ? undefined : Math.max(0, clock.now() - Date.parse(at))
  }
  /** The age of a checkpoint, by the last entry that it covers. */
  const ageOf = (covered: number | undefined): number | undefined =>
    covered === undefined || covered === 0 ? undefined : since(covered - 1)
  return {
    size,
    // A ledger that refuses has given the reason already; walking its tree would only repeat it.
    unsound: explainLedgerDefects(state) ?? (outage && formatSigningOutage(outage)),
    refuses: state.kind === 'refusing',
    extendsSigned: signed === undefined || state.kind === 'refusing' ? undefined : hasRoot(ledger, signed.checkpoint),
    signedSize,
    // The first signature is the log's own.
    cosignatures: signed === undefined ? 0 : signed.note.signatures.length - 1,
    oldestUnsignedMs: size > (signedSize ?? 0) ? (since(signedSize ?? 0) ?? 0) : 0,
    checkpointAgeMs: ageOf(signedSize),
    cosignedAgeMs: ageOf(ledger.cosignedSize()),
    checkpointSeconds,
    verifiedAgeMs: verified === undefined ? undefined : Math.max(0, clock.now() - verified.atMs),
    verifiedSize: verified?.size,
    pinTrouble: formatPinTrouble(ledger.pin()),
  }
}

/** The ledger does not refuse because of this, since the last signed state is still in the data directory. */
function formatPinTrouble(pin: ReturnType<RuntimeRecordDependencies['ledger']['pin']>): string | undefined {
  return pin?.trouble === undefined
    ? undefined
    : `Nothing outside of the data directory says what was signed last, because ${pin.path} is of no use: ${pin.trouble}. Make its folder writable, or name another in ledger.pins.`
}

/**
 * Follows the path of the last signed entry; in a tree that was changed on this path, the result is not the signed
 * root.
 */
function hasRoot(
  ledger: RuntimeRecordDependencies['ledger'],
  signed: { readonly size: number; readonly root: Uint8Array },
): boolean {
  if (signed.size === 0) return true
  const inclusion = ledger.inclusion(signed.size - 1, signed.size)
  return inclusion.ok && areBytesEqual(inclusion.value.root, signed.root)
}
