/** Administration API: credentials and the emergency stop. The guard decides who may do what. */
import { explainTokenAdministrationRefusal } from '../guard/administration-and-record-rights.ts'
import { explainUnknownTokenProfile } from '../guard/access-token.ts'
import { toAccessTokenRequest, emergencyStopRequestSchema, tokenRequestSchema } from './api-requests.ts'
import { createApiResponse, readRequestBodyBySchema, isAdminCaller, createRefusalResponse } from './api-context.ts'
import type { HonoApi, ApiOptions } from './api-context.ts'

export function addAdministrationRoutes(api: HonoApi, { guard, profiles }: ApiOptions): void {
  api.get('/tokens', (context) => {
    const { caller } = context.var
    if (!isAdminCaller(caller)) return createRefusalResponse(403, 'Only an admin sees the tokens.')
    return context.json(
      guard.tokens
        .list()
        .filter(({ restrictions }) => explainTokenAdministrationRefusal(caller, restrictions) === undefined),
    )
  })
  api.post('/tokens', async (context) => {
    const tokenRequest = toAccessTokenRequest(await readRequestBodyBySchema(context, tokenRequestSchema))
    const flaw = isAdminCaller(context.var.caller)
      ? explainUnknownTokenProfile(tokenRequest, [...profiles().keys()])
      : undefined
    if (flaw !== undefined) return createRefusalResponse(400, flaw)
    return createApiResponse(await guard.tokens.create(context.var.caller, tokenRequest))
  })
  api.delete('/tokens/:name', async (context) =>
    createApiResponse(await guard.tokens.revoke(context.var.caller, context.req.param('name'))),
  )
  api.post('/stop', async (context) =>
    createApiResponse(
      await guard.stop.engage(
        context.var.caller,
        (await readRequestBodyBySchema(context, emergencyStopRequestSchema)).reason,
      ),
    ),
  )
  api.delete('/stop', async (context) => createApiResponse(await guard.stop.release(context.var.caller)))
}
