/**
 * Administration of the API: credentials and the emergency stop. Who may do what is the guard's to say.
 *
 * Pure: the guard does the work.
 */
import { refuseTokenAuthority } from '../guard/authority.ts'
import { explainProfileFlaw } from '../guard/token.ts'
import { toNewToken, stopRequestSchema, tokenRequestSchema } from './api.ts'
import { createApiResponse, readRequestBody, isAdminCaller, parseRequest, apiRefusal } from './api-context.ts'
import type { Api, ApiOptions } from './api-context.ts'

export function addAdministrationRoutes(api: Api, { guard, profiles }: ApiOptions): void {
  api.get('/tokens', (context) => {
    const { caller } = context.var
    if (!isAdminCaller(caller)) return apiRefusal(403, 'Only an admin sees the tokens.')
    return context.json(
      guard.tokens.list().filter(({ restrictions }) => refuseTokenAuthority(caller, restrictions) === undefined),
    )
  })
  api.post('/tokens', async (context) => {
    const wish = toNewToken(parseRequest(tokenRequestSchema, await readRequestBody(context.req.raw)))
    const flaw = isAdminCaller(context.var.caller) ? explainProfileFlaw(wish, [...profiles().keys()]) : undefined
    if (flaw !== undefined) return apiRefusal(400, flaw)
    return createApiResponse(await guard.tokens.create(context.var.caller, wish))
  })
  api.delete('/tokens/:name', async (context) =>
    createApiResponse(await guard.tokens.revoke(context.var.caller, context.req.param('name'))),
  )
  api.post('/stop', async (context) =>
    createApiResponse(
      await guard.stop.engage(
        context.var.caller,
        parseRequest(stopRequestSchema, await readRequestBody(context.req.raw)).reason,
      ),
    ),
  )
  api.delete('/stop', async (context) => createApiResponse(await guard.stop.release(context.var.caller)))
}
