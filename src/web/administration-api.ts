/**
 * Administration of the API: credentials and the emergency stop. Who may do what is the guard's to say.
 *
 * Pure: the guard does the work.
 */
import { tokenAuthorityFlaw } from '../guard/authority.ts'
import { profileFlaw } from '../guard/token.ts'
import { newTokenOf, stopRequest, tokenRequest } from './api.ts'
import { answer, bodyOf, isAdmin, parsed, refusal } from './api-context.ts'
import type { Api, ApiOptions } from './api-context.ts'

export function addAdministration(api: Api, { guard, profiles }: ApiOptions): void {
  api.get('/tokens', (context) => {
    const { caller } = context.var
    if (!isAdmin(caller)) return refusal(403, 'Only an admin sees the tokens.')
    return context.json(
      guard.tokens.list().filter(({ restrictions }) => tokenAuthorityFlaw(caller, restrictions) === undefined),
    )
  })
  api.post('/tokens', async (context) => {
    const wish = newTokenOf(parsed(tokenRequest, await bodyOf(context.req.raw)))
    const flaw = isAdmin(context.var.caller) ? profileFlaw(wish, [...profiles().keys()]) : undefined
    if (flaw !== undefined) return refusal(400, flaw)
    return answer(await guard.tokens.create(context.var.caller, wish))
  })
  api.delete('/tokens/:name', async (context) =>
    answer(await guard.tokens.revoke(context.var.caller, context.req.param('name'))),
  )
  api.post('/stop', async (context) =>
    answer(await guard.stop.engage(context.var.caller, parsed(stopRequest, await bodyOf(context.req.raw)).reason)),
  )
  api.delete('/stop', async (context) => answer(await guard.stop.release(context.var.caller)))
}
