/**
 * Cosigning: asks every witness once to cosign our newest checkpoint. The caller decides when and how often.
 *
 * Reads and writes through the ledger and the clients it is given.
 */
import type { Result } from '../core/result.ts'
import { fail, ok } from '../core/result.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import type { SigningFault } from './ledger-state.ts'
import type { Ledger } from './ledger.ts'
import type { WitnessClient, WitnessFault } from './witness-client.ts'

export interface CosigningResult {
  readonly signed: SignedCheckpoint
  /** Names of the witnesses that cosigned. */
  readonly cosigned: readonly string[]
  readonly faults: readonly WitnessFault[]
}

/**
 * Asks every witness. If one shows our own signature under a tree that ours does not extend, the ledger refuses entries
 * from then on.
 */
export async function requestCosignatures(
  ledger: Ledger,
  witnesses: readonly WitnessClient[],
): Promise<Result<CosigningResult, SigningFault>> {
  const signed = await ledger.checkpoint()
  if (!signed.ok) return signed
  const answers = await Promise.all(
    witnesses.map((witness) =>
      witness.cosign(signed.value, ledger.verifierKey, (from, to) => ledger.consistency(from, to)),
    ),
  )
  const faults = answers.flatMap((answer) => (answer.ok ? [] : [answer.fault]))
  for (const fault of faults) {
    const evidence = fault.kind === 'witness-disagrees' ? fault.evidence : undefined
    const fork = evidence && (await ledger.compareWithCheckpoint(evidence))
    if (fork !== undefined) return fail(fork)
  }
  const cosignatures = answers.flatMap((answer) => (answer.ok ? [answer.value] : []))
  const merged = cosignatures.length === 0 ? signed.value : await ledger.addCosignatures(signed.value, cosignatures)
  return ok({ signed: merged, cosigned: cosignatures.map(({ key }) => key.name), faults })
}
