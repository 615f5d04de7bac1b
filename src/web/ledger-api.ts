/**
 * Ledger of the API: how large it is, what it says, proofs of it, and whether it still is what was signed.
 *
 * Pure: the ledger does the work.
 */
import { callerKey } from '../bus/caller.ts'
import { refuseAdministration, hasRestrictedCredential, mayAddRecords } from '../guard/authority.ts'
import { formatSignedCheckpoint } from '../ledger/checkpoint.ts'
import { formatVerifierKey } from '../ledger/note-key.ts'
import { explainLedgerRefusal } from '../ledger/refusal.ts'
import { eraseRequestSchema, exportRequestSchema } from './api.ts'
import { readRequestBody, parseRequest, parsePositive, apiRefusal } from './api-context.ts'
import type { Api, ApiOptions } from './api-context.ts'
import { toEntryView } from './call-record.ts'
import { eraseEntries } from './erase-entries.ts'
import { createVerification } from './verification.ts'
import type { LedgerView } from './views.ts'

const MAX_ENTRIES = 500
const NARROWED = 'This credential is narrowed, and the ledger tells of the whole house.'

export function addLedgerRoutes(api: Api, { ledger, feed }: ApiOptions): void {
  const verification = createVerification(ledger, feed)
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
    if (hasRestrictedCredential(context.var.caller)) return apiRefusal(403, NARROWED)
    const limit = Math.min(parsePositive(context.req.query('limit'), 100), MAX_ENTRIES)
    const before = Math.min(parsePositive(context.req.query('before'), ledger.size()), ledger.size())
    const from = Math.max(0, before - limit)
    const entries = ledger.entries(from, before - from).map(({ entry }) => toEntryView(entry))
    return context.json(entries.toReversed())
  })
  api.get('/ledger/proof/:seq', async (context) => {
    if (hasRestrictedCredential(context.var.caller)) return apiRefusal(403, NARROWED)
    const under = mayAddRecords(context.var.caller) ? undefined : 'existing'
    const withBody = context.req.query('with_body') === 'true'
    // What an entry commits to may be another caller's words.
    const flaw = withBody ? refuseAdministration(context.var.caller) : undefined
    if (flaw !== undefined) return apiRefusal(403, `Only an admin is shown what entries commit to. ${flaw.message}`)
    const proof = await ledger.proofText(parsePositive(context.req.param('seq'), -1), { withBody, under })
    return proof.ok ? context.text(proof.value) : apiRefusal(404, explainLedgerRefusal(proof.fault))
  })
  api.post('/ledger/export', async (context) => {
    const flaw = refuseAdministration(context.var.caller)
    if (flaw !== undefined) return apiRefusal(403, `Only an admin has files written. ${flaw.message}`)
    const { folder, with_bodies: withBodies } = parseRequest(
      exportRequestSchema,
      await readRequestBody(context.req.raw),
    )
    const exported = await ledger.exportTo(folder, { withBodies })
    if (!exported.ok) return apiRefusal(409, explainLedgerRefusal(exported.fault))
    return context.json({ ...exported.value, vkey: formatVerifierKey(ledger.verifierKey) })
  })
  api.post('/ledger/erase', async (context) => {
    const { caller } = context.var
    const flaw = refuseAdministration(caller)
    if (flaw !== undefined) return apiRefusal(403, `Only an admin has words erased. ${flaw.message}`)
    const { entries, reason } = parseRequest(eraseRequestSchema, await readRequestBody(context.req.raw))
    const view = await eraseEntries(ledger, entries, { reason, by: callerKey(caller) })
    if (view.erased.length === 0 && view.refused !== null) return apiRefusal(409, view.refused)
    return context.json(view)
  })
  api.post('/ledger/checkpoint', async (context) => {
    if (!mayAddRecords(context.var.caller)) return apiRefusal(403, 'This credential does not have anything signed.')
    const signed = await ledger.checkpoint()
    return signed.ok
      ? context.text(formatSignedCheckpoint(signed.value))
      : apiRefusal(409, explainLedgerRefusal(signed.fault))
  })
  api.post('/ledger/verify', (context) => {
    const { caller } = context.var
    // It reads everything there is; somebody who may only look does not keep the node busy.
    if (caller.kind === 'principal' && (caller.role === 'observer' || hasRestrictedCredential(caller)))
      return apiRefusal(403, 'An observer, or a credential that is narrowed, does not start a verification.')
    return context.json(verification.start())
  })
}
