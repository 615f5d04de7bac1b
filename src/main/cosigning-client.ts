/**
 * Cosigning: shows each new checkpoint to the witnesses that the owner named, and keeps what they say.
 *
 * Does I/O.
 */
import type { Config } from '../config/schema.ts'
import type { Logger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { parseVerifierKey } from '../ledger/note-key.ts'
import { WitnessClient } from '../ledger/witness-client.ts'
import { refused } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

const TIMEOUT_MS = 10_000

/** Signs, and has it cosigned. A witness that is away is a line in the log, never a reason to stop. */
export function createCosigning(
  config: Config,
  ledger: Ledger,
  logger: Logger,
): Result<() => Promise<void>, StartFault> {
  const witnesses: WitnessClient[] = []
  for (const { vkey, url } of config.ledger.witnesses) {
    const key = parseVerifierKey(vkey)
    if (!key.ok) return refused(`ledger.witnesses: ${vkey} is no witness's key: ${key.fault.reason}`)
    witnesses.push(new WitnessClient({ url, key: key.value, timeoutMs: TIMEOUT_MS }))
  }
  return ok(async () => {
    const before = ledger.latestCheckpoint()?.checkpoint.size
    const signed = await ledger.checkpoint()
    if (!signed.ok) {
      logger.error({ fault: signed.fault.kind }, 'the ledger could not be signed')
      return
    }
    if (signed.value.checkpoint.size === before) return
    const prove = (from: number, to: number): ReturnType<Ledger['consistency']> => ledger.consistency(from, to)
    const answers = await Promise.all(
      witnesses.map((witness) => witness.cosign(signed.value, ledger.verifierKey, prove)),
    )
    const cosignatures = answers.flatMap((answer) => (answer.ok ? [answer.value] : []))
    for (const answer of answers) if (!answer.ok) logger.warn({ fault: answer.fault }, 'a witness did not cosign')
    if (cosignatures.length > 0) await ledger.addCosignatures(signed.value, cosignatures)
  })
}
