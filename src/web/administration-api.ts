/**
 * Administration of the API: credentials and the emergency stop. Who may do what is the guard's to say.
 *
 * Pure: the guard does the work.
 */
import { stopRequest, tokenRequest } from './api.ts'
import { answer, bodyOf, isAdmin, parsed, refusal } from './api-context.ts'
import type { Api, ApiOptions } from './api-context.ts'

const DAY_MS = 86_400_000

export function addAdministration(api: Api, { guard }: ApiOptions): void {
  api.get('/tokens', (context) =>
    isAdmin(context.var.caller) ? context.json(guard.tokens.list()) : refusal(403, 'Only an admin sees the tokens.'),
  )
  api.post('/tokens', async (context) => {
    const { name, role, expiresInDays, effects, profiles, devices } = parsed(
      tokenRequest,
      await bodyOf(context.req.raw),
    )
    const narrowed = effects !== undefined || profiles !== undefined || devices !== undefined
    const restrictions = { ...(effects && { effects }), ...(profiles && { profiles }), ...(devices && { devices }) }
    return answer(
      await guard.tokens.create(context.var.caller, {
        name,
        role,
        ...(narrowed ? { restrictions } : {}),
        ...(expiresInDays === undefined ? {} : { ttlMs: expiresInDays * DAY_MS }),
      }),
    )
  })
  api.delete('/tokens/:name', async (context) =>
    answer(await guard.tokens.revoke(context.var.caller, context.req.param('name'))),
  )
  api.post('/stop', async (context) =>
    answer(await guard.stop.engage(context.var.caller, parsed(stopRequest, await bodyOf(context.req.raw)).reason)),
  )
  api.delete('/stop', async (context) => answer(await guard.stop.release(context.var.caller)))
}
