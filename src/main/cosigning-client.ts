/**
 * Cosigning: shows each new checkpoint to the witnesses that the owner named, and keeps what they say.
 */
import type { Config } from '../config/schema.ts'
import type { Logger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { cosignNewest } from '../ledger/cosigning.ts'
import { ledgerFaultSentence } from '../ledger/fork.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { COSIGNATURE_TYPE, parseVerifierKey } from '../ledger/note-key.ts'
import { WitnessClient } from '../ledger/witness-client.ts'
import { misconfiguredStart } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

/** For one witness; all are asked at once. */
const TIMEOUT_MS = 10_000

/**
 * A witness that is away is a line in the log, once for each reason; one that remembers another tree of ours stops the
 * ledger.
 */
export function createCosigning(
  config: Config,
  ledger: Ledger,
  logger: Logger,
): Result<() => Promise<void>, StartFault> {
  const witnesses: WitnessClient[] = []
  for (const { vkey, url } of config.ledger.witnesses) {
    const key = parseVerifierKey(vkey)
    if (!key.ok) return misconfiguredStart(`ledger.witnesses: ${vkey} is no witness's key: ${key.fault.reason}`)
    if (key.value.type !== COSIGNATURE_TYPE)
      return misconfiguredStart(
        `ledger.witnesses: ${vkey} is no witness's key: it is a log’s key; a witness prints its own`,
      )
    witnesses.push(new WitnessClient({ url, key: key.value, timeoutMs: TIMEOUT_MS }))
  }
  // What every witness has signed already: a quiet house need not ask them again every minute.
  let cosignedSize = -1
  let told: readonly string[] = []
  return ok(async () => {
    if (ledger.state().kind === 'refusing' || ledger.size() === cosignedSize) return
    const round = await cosignNewest(ledger, witnesses)
    if (!round.ok) {
      logger.error({ fault: round.fault }, ledgerFaultSentence(round.fault))
      return
    }
    for (const fault of round.value.faults)
      if (!told.includes(JSON.stringify(fault)))
        logger.warn({ fault }, 'a witness did not cosign; it is asked every time')
    if (told.length > 0 && round.value.faults.length === 0) logger.info({}, 'all witnesses cosign again')
    told = round.value.faults.map((fault) => JSON.stringify(fault))
    // Not the size of now: what was recorded while they were asked still has to be signed.
    if (round.value.faults.length === 0) cosignedSize = round.value.signed.checkpoint.size
  })
}
