/** Cosigning: sends each new checkpoint to the configured witnesses and stores their cosignatures. */
import type { Config } from '../config/schema.ts'
import type { Logger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import type { CosignedCheckpointReader } from '../guard/quorum-round-service.ts'
import { requestCosignatures } from '../ledger/cosigning.ts'
import { formatLedgerFault } from '../ledger/ledger-state.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { COSIGNATURE_NOTE_SIGNATURE_TYPE, parseVerifierKey } from '../ledger/note-key.ts'
import { formatNote } from '../ledger/signed-note.ts'
import { WitnessClient } from '../ledger/witness-client.ts'
import { createMisconfiguredStartResult } from './start-fault.ts'
import type { StartFault } from './start-fault.ts'

/** The time-out for one witness; all are asked at the same time. */
const TIMEOUT_MS = 10_000

/**
 * Returns a job. A witness that cannot be reached is logged, once for each reason; one that remembers another tree of
 * this log makes the ledger refuse entries.
 */
export function createWitnessCosigningJob(
  config: Config,
  ledger: Ledger,
  logger: Logger,
): Result<() => Promise<void>, StartFault> {
  const witnesses: WitnessClient[] = []
  for (const { vkey, url } of config.ledger.witnesses) {
    const key = parseVerifierKey(vkey)
    if (!key.ok)
      return createMisconfiguredStartResult(`ledger.witnesses: ${vkey} is not a witness's key: ${key.fault.reason}`)
    if (key.value.type !== COSIGNATURE_NOTE_SIGNATURE_TYPE)
      return createMisconfiguredStartResult(
        `ledger.witnesses: ${vkey} is not a witness's key: it is a log’s key; a witness prints its own`,
      )
    witnesses.push(new WitnessClient({ url, key: key.value, timeoutMs: TIMEOUT_MS }))
  }
  // The size that every witness has cosigned: while nothing is recorded, they are not asked again every minute.
  let cosignedSize = -1
  let loggedFaults: readonly string[] = []
  return ok(async () => {
    if (ledger.state().kind === 'refusing' || ledger.size() === cosignedSize) return
    const round = await requestCosignatures(ledger, witnesses)
    if (!round.ok) {
      logger.error({ fault: round.fault }, formatLedgerFault(round.fault))
      return
    }
    for (const fault of round.value.faults)
      if (!loggedFaults.includes(JSON.stringify(fault)))
        logger.warn({ fault }, 'a witness did not cosign; it is asked again each time')
    if (loggedFaults.length > 0 && round.value.faults.length === 0) logger.info({}, 'all witnesses cosign again')
    loggedFaults = round.value.faults.map((fault) => JSON.stringify(fault))
    // This is not the present size, because entries that were recorded meanwhile still have to be cosigned.
    if (round.value.faults.length === 0) cosignedSize = round.value.signed.checkpoint.size
  })
}

/** The cosigned checkpoints, each with the log's own signature and with that of one witness alone. */
export function createCosignedCheckpointReader(ledger: Ledger): CosignedCheckpointReader {
  return {
    size: ledger.cosignedSize(),
    by: (witness, seq) => {
      const key = parseVerifierKey(witness)
      const signed = key.ok ? ledger.cosignedBy(key.value, seq) : undefined
      if (!key.ok || signed === undefined) return undefined
      const { text, signatures } = signed.note
      const wanted = signatures.filter(({ name }) => name === ledger.verifierKey.name || name === key.value.name)
      return { size: signed.checkpoint.size, note: formatNote({ text, signatures: wanted }) }
    },
  }
}
