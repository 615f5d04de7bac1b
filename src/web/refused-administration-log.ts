/**
 * Refused administration log: records who tried to grant or use administrative rights and was refused. A refusal that
 * leaves no trace invites a second attempt.
 */
import { toCallerKey } from '../bus/caller.ts'
import type { Caller } from '../bus/call.ts'
import type { ApiOptions } from './api-context.ts'

/**
 * Every route that grants rights, ends somebody's rights, or makes the node sign, publish or erase something. Calls are
 * not among them, since each call is recorded anyway; `/session` is, because a credential is presented there. The path
 * in an entry is one of these: text from the request stays out of the log.
 */
const WATCHED = [
  '/tokens',
  '/console/link',
  '/sessions',
  '/stop',
  '/approvals',
  '/grants',
  '/ledger/erase',
  '/ledger/export',
  '/ledger/checkpoint',
  '/ledger/verify',
] as const
/** Callers without a credential share one budget of entries. */
const NOBODY = 'unauthenticated'

/** Called after the answer to a request. Resolves when the refusal is recorded, if it has to be. */
export async function recordRefusedAdministration(
  { ledger, tooMany }: Pick<ApiOptions, 'ledger' | 'tooMany'>,
  request: { readonly method: string; readonly path: string; readonly caller: Caller | undefined },
  status: number,
): Promise<void> {
  const { method, path, caller } = request
  if (method === 'GET' || method === 'HEAD' || (status !== 401 && status !== 403)) return
  const watched = WATCHED.find((each) => path === `/api${each}` || path.startsWith(`/api${each}/`))
  if (watched === undefined || (caller === undefined && tooMany(NOBODY) !== undefined)) return
  const by = caller === undefined ? NOBODY : toCallerKey(caller)
  await ledger.append({ kind: 'access.refused', method, path: `/api${watched}`, by, status })
}
