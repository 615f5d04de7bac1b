/** Ledger API: its size, its entries, proofs, and whether it still matches what was signed. */
import { toCallerKey } from '../bus/caller.ts'
import {
  explainAdministrationRefusal,
  hasRestrictedCredential,
  mayAddToNodesOwnRecords,
} from '../guard/administration-and-record-rights.ts'
import { formatSignedCheckpoint } from '../ledger/checkpoint.ts'
import { formatVerifierKey } from '../ledger/note-key.ts'
import { formatLedgerOperationFault } from '../ledger/ledger-operation-fault.ts'
import { bodyErasureRequestSchema, ledgerExportRequestSchema } from './api-requests.ts'
import { readRequestBodyBySchema, parseCountOrDefault, createRefusalResponse } from './api-context.ts'
import type { HonoApi, ApiOptions } from './api-context.ts'
import { toLedgerEntryView } from './trace-entries.ts'
import { eraseLedgerEntryBodies } from './ledger-erasure.ts'
import { createOnDemandLedgerVerification } from './on-demand-ledger-verification.ts'
import type { LedgerView } from './views.ts'

const MAX_ENTRIES = 500
const NARROWED = 'This credential is narrowed, and the ledger tells of the whole house.'

export function addLedgerRoutes(api: HonoApi, { ledger, feed }: ApiOptions): void {
  const verification = createOnDemandLedgerVerification(ledger, feed)
  api.get('/ledger', (context) => {
    const latest = ledger.latestCheckpoint()
    const view: LedgerView = {
      size: ledger.size(),
      state: ledger.state(),
      checkpoint: latest === undefined ? null : formatSignedCheckpoint(latest),
      vkey: formatVerifierKey(ledger.verifierKey),
      verification: verification.state(),
    }
    return context.json(view)
  })
  api.get('/ledger/entries', (context) => {
    if (hasRestrictedCredential(context.var.caller)) return createRefusalResponse(403, NARROWED)
    const limit = Math.min(parseCountOrDefault(context.req.query('limit'), 100), MAX_ENTRIES)
    const before = Math.min(parseCountOrDefault(context.req.query('before'), ledger.size()), ledger.size())
    const from = Math.max(0, before - limit)
    const entries = ledger.entries(from, before - from).map(({ entry }) => toLedgerEntryView(entry))
    return context.json(entries.toReversed())
  })
  api.get('/ledger/proof/:seq', async (context) => {
    if (hasRestrictedCredential(context.var.caller)) return createRefusalResponse(403, NARROWED)
    const under = mayAddToNodesOwnRecords(context.var.caller) ? undefined : 'existing'
    const withBody = context.req.query('with_body') === 'true'
    // A body may contain another caller's words.
    const flaw = withBody ? explainAdministrationRefusal(context.var.caller) : undefined
    if (flaw !== undefined)
      return createRefusalResponse(403, `Only an admin is shown what entries commit to. ${flaw.message}`)
    const proof = await ledger.proofText(parseCountOrDefault(context.req.param('seq'), -1), { withBody, under })
    return proof.ok ? context.text(proof.value) : createRefusalResponse(404, formatLedgerOperationFault(proof.fault))
  })
  api.post('/ledger/export', async (context) => {
    const flaw = explainAdministrationRefusal(context.var.caller)
    if (flaw !== undefined) return createRefusalResponse(403, `Only an admin may have files written. ${flaw.message}`)
    const { folder, with_bodies: withBodies } = await readRequestBodyBySchema(context, ledgerExportRequestSchema)
    const exported = await ledger.exportTo(folder, { withBodies })
    if (!exported.ok) return createRefusalResponse(409, formatLedgerOperationFault(exported.fault))
    return context.json({ ...exported.value, vkey: formatVerifierKey(ledger.verifierKey) })
  })
  api.post('/ledger/erase', async (context) => {
    const { caller } = context.var
    const flaw = explainAdministrationRefusal(caller)
    if (flaw !== undefined) return createRefusalResponse(403, `Only an admin may have words erased. ${flaw.message}`)
    const { entries, reason } = await readRequestBodyBySchema(context, bodyErasureRequestSchema)
    const view = await eraseLedgerEntryBodies(ledger, entries, { reason, by: toCallerKey(caller) })
    if (view.erased.length === 0 && view.refused !== null) return createRefusalResponse(409, view.refused)
    return context.json(view)
  })
  api.post('/ledger/checkpoint', async (context) => {
    if (!mayAddToNodesOwnRecords(context.var.caller))
      return createRefusalResponse(403, 'This credential may not have the ledger signed.')
    const signed = await ledger.checkpoint()
    return signed.ok
      ? context.text(formatSignedCheckpoint(signed.value))
      : createRefusalResponse(409, formatLedgerOperationFault(signed.fault))
  })
  api.post('/ledger/verify', (context) => {
    const { caller } = context.var
    // It reads the whole ledger; a caller that may only read must not keep the node busy.
    if (caller.kind === 'principal' && (caller.role === 'observer' || hasRestrictedCredential(caller)))
      return createRefusalResponse(403, 'An observer, or a credential that is narrowed, may not start a verification.')
    return context.json(verification.start())
  })
}
